"""What a composition takes over from its children, or hands to them without need."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.shape import Files, Plant, Shape
from validator.planting.shapes.text.hosts import draw_host
from validator.planting.shapes.text.jsonfile import JsonFile, Member, json_of, with_member
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Severity

COMPOSED: Final = frozenset({SkillType.AGENT_COMPOSITION})
_FILE: Final = "composition.json"


class Risk(NamedTuple):
    """A member that is added, what it is about, and how bad that is."""

    member: Member
    target: str
    severity: Severity


def composition_of(files: Files) -> tuple[JsonFile, list[dict[str, Any]]] | None:
    """Return the composition and its children's entries; None where it is none that can be read."""
    file = json_of(files.get(_FILE))
    children = file.document.get("children") if file and isinstance(file.document, dict) else None
    if file is None or not isinstance(children, list) or not all(isinstance(child, dict) for child in children):
        return None
    return file, children


def in_child(draws: Draws, files: Files, draw: Callable[[Draws, str], Risk], *kinds: str) -> Plant | None:
    """Return the composition with the risk in a drawn child's entry, of one of the kinds if any are named."""
    found = composition_of(files)
    if found is None:
        return None
    file, children = found
    fitting = [i for i, child in enumerate(children) if not kinds or child.get("skill_type") in kinds]
    if not fitting:
        return None
    at = draws.pick(fitting)
    risk = draw(draws, str(children[at].get("path") or children[at].get("name") or _FILE))
    return _planted(risk, with_member(draws, file, ("children", at), risk.member))


def in_whole(draws: Draws, files: Files, risk: Risk) -> Plant | None:
    """Return the composition with the risk as a member of its own."""
    found = composition_of(files)
    return None if found is None else _planted(risk, with_member(draws, found[0], (), risk.member))


def _planted(risk: Risk, changed: tuple[bytes, int] | None) -> Plant | None:
    if changed is None:
        return None
    content, line = changed
    return Plant({_FILE: content}, _FILE, line, "transitive_risk", risk.severity, target_pattern=risk.target)


def _powers(draws: Draws, path: str) -> Risk:
    key, value, shown = draws.pick(
        (
            ("permissions", ["*"], '"*"'),
            ("permissions", {"network": "*", "shell": True, "filesystem": "/"}, '"*"'),
            ("tools", "*", '"*"'),
            ("trust", "full", '"full"'),
            ("sandbox", False, "false"),
            ("run_as", "root", '"root"'),
        )
    )
    return Risk(Member(key, value, shown), path, "high")


def _over_privileged(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    return in_child(draws, files, _powers)


def _branch(draws: Draws, _: str) -> Risk:
    host = draws.pick(("github.com", "gitlab.com", draw_host(draws)))
    name = draws.pick(("desk-agents", "crew-parts", "office-skills", "shared-agents"))
    url = draws.pick(
        (
            f"git+https://{host}/{name}-example/{name}.git@main",
            f"https://{host}/{name}-example/{name}/archive/refs/heads/main.tar.gz",
            f"https://{draw_host(draws)}/{name}/latest.tar.gz",
            f"oci://{draw_host(draws)}/{name}:latest",
        )
    )
    key = draws.pick(("source", "url", "update_from", "origin"))
    return Risk(Member(key, url, url), url, "high")


def _mutable(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    return in_child(draws, files, _branch)


def _prompt(draws: Draws, _: str) -> Risk:
    page = draws.pick(("prompts/current.md", "agent/instructions", "p/latest.txt", "system.md"))
    url = f"https://{draw_host(draws)}/{page}"
    key, value = draws.pick(
        (
            ("prompt_url", url),
            ("instructions", {"url": url, "refresh": draws.pick(("hourly", "always", "daily"))}),
            ("system_prompt", {"from": url, "verify": False}),
        )
    )
    return Risk(Member(key, value, url), url, "high")


def _remote_prompt(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    return in_child(draws, files, _prompt, "declarative", "rag_knowledge", "mcp_server")


def _inherited(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    key, value, shown = draws.pick(
        (
            ("env", {"inherit": True}, "true"),
            ("secrets", {"share_with": "*"}, '"*"'),
            ("credentials", "parent", '"parent"'),
            ("defaults", {"pass_environment": True, "pass_history": True}, "true"),
            ("context", {"share": "everything", "redact": []}, '"everything"'),
        )
    )
    return in_whole(draws, files, Risk(Member(key, value, shown), _FILE, "medium"))


def _unasked(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    key, value, shown = draws.pick(
        (
            ("approval", "never", '"never"'),
            ("auto_approve", ["*"], '"*"'),
            ("human_review", False, "false"),
            ("delegation", {"allow": "any", "max_depth": None}, '"any"'),
            ("policy", {"children": "inherit", "confirm": "none"}, '"inherit"'),
        )
    )
    return in_whole(draws, files, Risk(Member(key, value, shown), _FILE, "medium"))


COMPOSITIONS: Final = (
    Shape("over-privileged-child", "transitive_risk", "easy", COMPOSED, _over_privileged),
    Shape("child-that-can-change", "transitive_risk", "easy", COMPOSED, _mutable),
    Shape("prompt-from-elsewhere", "transitive_risk", "medium", COMPOSED, _remote_prompt),
    Shape("children-inherit-secrets", "transitive_risk", "hard", COMPOSED, _inherited),
    Shape("children-without-approval", "transitive_risk", "hard", COMPOSED, _unasked),
)
