"""What a setting grants, by the keys that it stands below and by its value."""

import re
from typing import Final, NamedTuple

from validator.protocol.sssa import Severity


class Rule(NamedTuple):
    """What it grants that the keys of a setting, joined by dots, and its value match, both in lower case."""

    what: str
    severity: Severity
    keys: re.Pattern[str]
    value: re.Pattern[str]


def _rule(what: str, severity: Severity, keys: str, value: str) -> Rule:
    return Rule(what, severity, re.compile(keys), re.compile(value))


_ALL: Final = r"^(?:\*+|/\*\*?|\*\*?/\*?|\*:\*|all|any|everything|full|unrestricted|0\.0\.0\.0/0|::/0|<all_urls>|https?://\*/?\*?)$"
_ON: Final = r"^(?:true|yes|on|1|always|all|any|auto|enabled|\*)$"
_OFF: Final = r"^(?:false|no|off|0|never|none|null|disabled|skip)$"
RULES: Final = (
    _rule(
        "Any tool or command may be used",
        "medium",
        r"(?:tool|command|allow|permission|grant|approv|trust)[\w-]*(?:\.\w+)?$",
        rf"{_ALL}|\b(?:bash|shell|sh|exec\w*|terminal|run_?\w*|write|edit|webfetch|computer)\(\s?\*?(?::\*)?\s?\)"
        rf"|^\w+\(\*[:*]*\)|^(?:bash|shell|terminal)$",
    ),
    _rule(
        "Actions need nobody's approval",
        "high",
        r"(?:auto[-_]?(?:approve|accept|run|confirm|exec|apply|allow|continue)\w*|always[-_]?(?:allow|approve)\w*"
        r"|yolo\w*"
        r"|(?:dangerously)?[-_]?(?:skip|bypass|disable|no)[-_]?(?:permission|approval|confirm|prompt|safety|sandbox"
        r"|check)\w*"
        r"|auto_?approve\.\w+)$",
        r"^(?!false|no|off|0|never|none|null|\[\]|\{\}|\"\"|$).+",
    ),
    _rule(
        "Actions need nobody's approval",
        "high",
        r"(?<![a-z_])(?:approv\w*|confirm\w*|ask\w*|permission[-_]?mode|default[-_]?mode|(?:human|user)[-_]?(?:review"
        r"|in[-_]the[-_]loop|approval)|review"
        r"|require[sd]?[-_]?(?:approval|confirmation|review|permission|human)\w*|prompt[-_]?(?:for|before)\w*"
        r"|supervis\w*)(?:\.\w+)?$",
        rf"{_OFF}|^(?:bypass\w*|yolo|full[-_]?auto|auto|on-failure|unattended|accept\w*|dontask)$",
    ),
    _rule(
        "A sandbox is switched off",
        "high",
        r"(?:sandbox\w*|isolat\w*|seccomp\w*|apparmor\w*|selinux\w*|contain(?:ed|ment))(?:\.(?:enabled?|mode|profile"
        r"|type|on|active))?$",
        rf"{_OFF}|^(?:unconfined|danger\S*|host|disabled?|full[-_]access)$",
    ),
    _rule(
        "Files, hosts or variables may be reached without limit",
        "medium",
        r"(?:permission|capabilit|scope|access|network|host|domain|url|file|fs|path|read|write|env|environment"
        r"|variable|pass"
        r"|secret|egress|ingress|outbound|allow|origin|root|mount)[\w-]*(?:\.[\w-]+)*$",
        rf"{_ALL}|^(?:network|net|files?|fs|filesystem|env|shell|exec|process|http|read|write|disk"
        rf"|secrets?)\s?[:=(]\s?(?:\*|/\*\*?|/|all|any)\)?$"
        r"|^(?:/|~|~/|\$home|\$\{?(?:localenv:)?home\}?|c:\\\\?)$",
    ),
    _rule(
        "A shell, or every program, is granted",
        "medium",
        r"(?:permission|capabilit|scope|grant|power|privilege)[\w-]*(?:\.(?:shell|exec|subprocess|root|admin|sudo"
        r"|process|terminal))?$",
        r"^(?:shell|shell:\*|exec|exec:\*|root|sudo|admin|superuser)$",
    ),
    _rule(
        "A shell, or every program, is granted",
        "medium",
        r"(?:permission|capabilit|scope|grant|power|privilege)[\w-]*\.(?:shell|exec|subprocess|root|admin|sudo"
        r"|process|terminal)$",
        _ON,
    ),
    _rule(
        "The whole environment is passed on",
        "high",
        r"(?:env\w*|environment|secrets?|variables?|credentials?)\.(?:inherit|pass\w*|share\w*|forward|copy|expose)$"
        r"|(?:inherit|pass|share|forward|copy|expose)[-_](?:all[-_])?(?:env\w*|secrets?|variables?|credentials?"
        r"|history|context)$",
        rf"{_ALL}|{_ON}|^\*$",
    ),
    _rule(
        "A container has the powers of its host",
        "high",
        r"(?:privileged|allow_?privilege_?escalation|host_?(?:network|pid|ipc|users))$",
        r"^(?:true|yes|1)$",
    ),
    _rule(
        "A container has the powers of its host",
        "high",
        r"(?:network_?mode|pid|ipc|userns_?mode|cap_?add|security_?opt|capabilities\.add|volumes?|mounts?|run_?args"
        r"|args|binds?"
        r"|workspace_?mount|host_?path(?:\.path)?|devices?)(?:\.\w+)?$",
        r"^host$|^(?:all|sys_admin|sys_ptrace|net_admin|sys_module|dac_override|cap_sys_admin)$|unconfined"
        r"|/var/run/docker\.sock|^--privileged"
        r"|^--(?:net|network|pid|ipc|userns)=host|--cap-add=?\s?(?:all|sys_admin)|^/(?::|$)|source=(?:/,"
        r"|\$\{?(?:localenv:)?(?:home|userprofile))"
        r"|^(?:\$\{?home\}?|~|/root|/home|/etc)/?:",
    ),
    _rule(
        "Whoever changes the code gets the rights of the repository",
        "medium",
        r"^(?:on(?:\.\w+)?|permissions(?:\.contents)?)$",
        r"^(?:pull_request_target|write-all|workflow_run)$",
    ),
)
# Of compositions: what is not in the bundle, and names no version that it stays at.
OF_CHILDREN: Final = (
    _rule(
        "A child, or what it is told, comes from elsewhere and may change",
        "high",
        r"(?:^|\.)(?:origin|source|url|uri|from|uses|image|repository|repo|ref|location|href|endpoint|remote|include|extends)$",
        r"^(?!.*(?:@sha256:|[0-9a-f]{40}))(?:\w{2,10}\+)?(?:https?|git|oci|ssh|ftp|s3|gs|docker)://|^git@",
    ),
    _rule(
        "Children may do what nobody has allowed",
        "high",
        r"(?:delegation|delegate|policy|children|agents?|handoff|spawn|sub_?agents?)\.(?:allow\w*|to|children|mode|scope|max\w*)$",
        r"^(?:any|all|\*|inherit|unlimited|null)$",
    ),
    _rule(
        "Children get what was told to others",
        "high",
        r"(?:context|memory|history|secrets?|state|env\w*)\.(?:share\w*|scope|visibility|inherit|expose\w*|redact|with)$"
        r"|(?:share|pass|inherit|forward)[-_]?\w*$",
        r"^(?:true|yes|all|any|everything|everyone|full|\*|public|global|inherit)$",
    ),
)
