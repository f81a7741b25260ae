"""What shell scripts should not do with what they hold: rules over commands whose words were followed."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from miner.analysis import shell_flow as lab
from miner.analysis import shell_tables as tables
from miner.analysis.shell_flow import NONE, Labels, ShellFlow, Step
from miner.analysis.shell_rules import Hit, url_of

_CODE: Final = frozenset({lab.FETCHED, lab.DECODED})
# Options whose value is a key to log in with, and is not sent.
_KEY_OPTIONS: Final = frozenset(
    {"-i", "--key", "--cert", "--cacert", "-E", "--netrc-file", "-K", "--config", "-F", "-o", "-O", "--identity"}
)
_UPLOADS: Final = frozenset({"cp", "sync", "mv", "put", "upload", "copy", "rsync", "create", "send", "push"})
_CLOUDS: Final = frozenset({"aws", "gsutil", "gcloud", "az", "gh", "rclone", "s3cmd", "mc", "b2"})
_LOADING: Final = re.compile(r"(?:LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND)")
_FILTERS: Final = frozenset(
    {"-name", "-iname", "-regex", "-iregex", "-path", "-mtime", "-atime", "-mmin", "-amin", "-empty"}
)
_ERASERS: Final = frozenset({"rm", "shred", "srm", "unlink"})
_WORD: Final = 4  # letters of a name that tell a service
_LOGGING_IN: Final = frozenset({"-H", "--header", "-u", "--user", "-b", "--cookie", "--oauth2-bearer"})
_SECRET_NAME: Final = re.compile(
    r"\$\{?!?([A-Z][A-Z0-9_]{0,60}?(?:SECRET|TOKEN|PASSW|PASSWORD|API_?KEY|CREDENTIAL|PRIVATE_KEY)[A-Z0-9_]{0,40})"
)


def reach_of(flow: ShellFlow, steps: Sequence[Step]) -> Iterator[tuple[Step, Hit]]:
    """Yield what the rules object to in a pipeline's commands, each with the command that it is about."""
    for number, step in enumerate(steps):
        for rule in _RULES:
            for hit in rule(flow, step):
                yield step, hit
        before = steps[number - 1] if number else None
        after = steps[number + 1] if number + 1 < len(steps) else None
        if _answers(step) and any(other is not None and _converses(other) for other in (before, after)):
            yield step, Hit("excessive_capability", "critical", "A shell is handed to a network connection.")


def settings_of(flow: ShellFlow) -> Iterator[tuple[int, Hit]]:
    """Yield what the rules object to in the variables that are set, each with its line."""
    for line, name, text, inner, _ in flow.script.assignments:
        for hit in _setting(name, text, flow.word(text, inner, line)):
            yield line, hit


def _converses(step: Step) -> bool:
    return step.program in tables.CONVERSING or (step.program, *step.arguments[:1]) == ("openssl", "s_client")


def _answers(step: Step) -> bool:
    """Whether a command is a shell that reads commands from its input."""
    return step.program in tables.SHELLS and all(a.startswith("-") and a != "-c" for a in step.arguments)


def _sent(flow: ShellFlow, step: Step) -> Iterator[Hit]:
    labels = _leaving(flow, step)
    if lab.SECRET in labels:
        target = url_of(step.arguments)
        yield Hit("secrets_exposure", "critical", "Secrets or the environment are sent away.", target)


def _named(flow: ShellFlow, step: Step) -> Iterator[Hit]:
    """A secret variable is sent elsewhere than in a header, to a host that it is not named for."""
    if step.program not in tables.DOWNLOADERS | tables.RESOLVERS | tables.CONVERSING:
        return
    set_here = {assignment.name for assignment in flow.script.assignments}
    target = url_of(step.arguments)
    for at, text in enumerate(step.arguments):
        if at and step.arguments[at - 1] in _LOGGING_IN:
            continue
        names = [name for name in _SECRET_NAME.findall(text) if name not in set_here]
        if names and (target or step.program not in tables.DOWNLOADERS) and not _meant_for(names, target):
            yield Hit("secrets_exposure", "high", "A secret variable is sent outside of headers.", target)
            return


def _meant_for(names: Sequence[str], url: str) -> bool:
    """Whether each name has a word of the URL in it, as SLACK_TOKEN and slack.com."""
    return all(any(len(word) >= _WORD and word.lower() in url.lower() for word in name.split("_")) for name in names)


def _leaving(flow: ShellFlow, step: Step) -> Labels:
    """Return what a command sends over the network."""
    program, arguments = step.program, step.arguments
    targets = [flow.of_text(target, step.command) for _, target in step.command.redirects if _is_network(target)]
    sends = program in tables.DOWNLOADERS or program in tables.SENDERS or _converses(step) or bool(targets)
    sends = sends or (program in _CLOUDS and not _UPLOADS.isdisjoint(arguments))
    sends = sends or (program in tables.INTERPRETERS and any(map(tables.ONE_LINERS.search, arguments)))
    if not sends:
        return NONE
    places = list(range(len(arguments)))
    if program in ("ssh", "scp", "sftp", "rsync") or program in tables.DOWNLOADERS:
        options = _KEY_OPTIONS - ({"-F"} if program in tables.DOWNLOADERS else {"-K"})
        places = [at for at in places if not (at and arguments[at - 1] in options)]
        places = [
            at for at in places if not arguments[at].startswith(("IdentityFile", "-oIdentityFile", "UserKnownHosts"))
        ]
    if program == "ssh":  # its words are a command for the other side
        labels = NONE.union(*(step.words[at] for at in places if at < len(step.words)))
    else:
        labels = NONE.union(*(flow.holds(step, at) for at in places if at < len(step.words)))
    return labels | step.given


def _is_network(target: str) -> bool:
    return target.startswith(tables.NETWORK_FILES)


def _run(flow: ShellFlow, step: Step) -> Iterator[Hit]:
    """What was fetched or decoded is executed: as text, from a file, as a library."""
    program, arguments = step.program, step.arguments
    code = NONE
    if program == "eval":
        code = NONE.union(*step.words) & _CODE
    elif program in tables.INTERPRETERS:
        words = [a for a in arguments if not a.startswith("-")]
        if "-c" in arguments[:-1]:
            code = step.words[arguments.index("-c") + 1] & _CODE
        elif words:
            code = step.words[arguments.index(words[0])] & {lab.DROPPED}
        else:
            code = step.given & _CODE
        if program in tables.SHELLS and words[:1] == ["-s"]:
            code |= step.given & _CODE
    elif program in ("source", ".", "insmod", "dlopen", "enable") and arguments:
        code = NONE.union(*step.words) & {lab.DROPPED} | flow.content(arguments[0]) & _CODE
    if lab.DROPPED in step.name and ("/" in program or "/" in step.command.argv[0] or "$" in program):
        code |= {lab.DROPPED}
    if code:
        known = "decoded" if lab.DECODED in code and lab.FETCHED not in code else "downloaded"
        text = (
            "What is decoded is run: readers cannot see what it is."
            if known == "decoded"
            else "What is downloaded is run without being looked at."
        )
        yield Hit("excessive_capability", "critical", text)
    for name, text in _given_settings(step):
        yield from _setting(name, text, flow.of_text(text, step.command))


def _given_settings(step: Step) -> Iterator[tuple[str, str]]:
    yield from step.command.settings
    if step.program in ("export", "declare", "local", "readonly", "typeset", "env"):
        yield from ((name, text) for name, equals, text in (a.partition("=") for a in step.command.argv) if equals)
    elif step.command.argv[0] == "env":
        yield from ((name, text) for name, equals, text in (a.partition("=") for a in step.command.argv[1:8]) if equals)


def _setting(name: str, text: str, labels: Labels) -> Iterator[Hit]:
    if _LOADING.fullmatch(name) and labels & {lab.DROPPED, lab.FETCHED, lab.DECODED}:
        yield Hit("excessive_capability", "critical", "What is downloaded is loaded into every program that starts.")
    elif text.strip("\"'").lower() in tables.UNCHECKED_VARIABLES.get(name, ()):
        yield Hit("excessive_capability", "medium", "Certificates are not verified.")


def _assembled(_: ShellFlow, step: Step) -> Iterator[Hit]:
    word = step.command.argv[len(step.command.argv) - len(step.arguments) - 1]
    pieces = len(re.findall(r"\$\{\w{1,64}:\d", word)) > 1
    if (lab.ASSEMBLED in step.name or pieces) and word.startswith("$"):
        yield Hit("excessive_capability", "high", "The name of the program that runs is put together at run time.")


def _stays(flow: ShellFlow, step: Step) -> Iterator[Hit]:
    """Something is written to where programs are started from."""
    written = [target for sign, target in step.command.redirects if sign.startswith((">", "&"))]
    if step.program in ("cp", "mv", "ln", "install"):
        written += step.arguments[-1:]
    elif step.program == "tee" or (step.program == "sed" and any(a.startswith("-i") for a in step.arguments)):
        written += step.arguments
    elif step.program == "dd":
        written += [a.removeprefix("of=") for a in step.arguments if a.startswith("of=")]
    if any(lab.START_PATH in flow.of_text(target, step.command) for target in written):
        yield Hit("excessive_capability", "high", "Something is made to start by itself later.")


def _cleared(_: ShellFlow, step: Step) -> Iterator[Hit]:
    """The home folder, or what a person keeps in it, is deleted."""
    program, arguments = step.program, step.arguments
    home = [at for at, labels in enumerate(step.words) if lab.HOME_PATH in labels and not arguments[at].startswith("-")]
    if program == "find":
        runs = next((arguments[at + 1] for at, a in enumerate(arguments[:-1]) if a.startswith("-exec")), "")
        deletes = "-delete" in arguments or runs.rpartition("/")[2] in _ERASERS
        broad = bool(home) and _FILTERS.isdisjoint(arguments)
    else:
        flags = "".join(a[1:] for a in arguments if a.startswith("-") and not a.startswith("--"))
        deletes = (program == "rm" and ("r" in flags.lower() or "--recursive" in arguments)) or (
            program == "rsync" and any(a.startswith("--delete") for a in arguments)
        )
        broad = bool(home) if program == "rm" else arguments[-1:] != () and len(arguments) - 1 in home
    if deletes and broad:
        yield Hit("excessive_capability", "critical", "A whole system or home folder is deleted.")


def _given_command(_: ShellFlow, step: Step) -> Iterator[Hit]:
    """A shell gets a command line that is put together at run time."""
    if step.program not in tables.SHELLS or "-c" not in step.arguments[:-1]:
        return
    at = step.arguments.index("-c") + 1
    text, flags = step.arguments[at], step.command.open
    open_ = flags[len(flags) - len(step.arguments) + at] if flags else False
    if (open_ and re.search(r"\$[\w{@*!]", text)) or (step.command.argv[0] == "xargs" and "{}" in text):
        yield Hit("excessive_capability", "medium", "A shell runs a command line that is put together at run time.")


_RULES: Final[tuple[Callable[[ShellFlow, Step], Iterator[Hit]], ...]] = (
    _sent,
    _named,
    _run,
    _assembled,
    _stays,
    _cleared,
    _given_command,
)
