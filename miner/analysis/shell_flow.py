"""What the words of a shell script hold: secrets, what was fetched or decoded, paths.

Labels go through variables, functions, pipes, groups and files. The order of statements is not looked at: what could be
set is set. They go from arguments and standard input to a command's output, unless it only tells something about them.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from miner.analysis import private_paths as paths
from miner.analysis import shell_tables as tables
from miner.analysis.shell_commands import Command, Function, Script, program_of

Labels = frozenset[str]
NONE: Final[Labels] = frozenset()
SECRET: Final = "secret"  # noqa: S105 - says of a text that it holds one
SECRET_PATH: Final = "secret path"  # noqa: S105 - says of a path that a file that holds secrets lies there
START_PATH: Final = "start path"
HOME_PATH: Final = "home path"  # the home folder, or one of a person's own in it
FETCHED: Final = "fetched"
DECODED: Final = "decoded"
DROPPED: Final = "dropped"  # the path of a file that was fetched or decoded
ASSEMBLED: Final = "assembled"  # put together by programs from literal pieces
REVEALER: Final = "revealer"  # the name of a program that prints the environment
_CONTENTS: Final = frozenset({SECRET, FETCHED, DECODED})
_PASSES: Final = 3  # a value that changes hands more often than this is lost sight of
_REFERENCE: Final = re.compile(r"\$(?:\{!?)?([A-Za-z_]\w{0,63}|[0-9@*])")
_PATHS: Final = ((paths.CREDENTIALS, SECRET_PATH), (paths.START, START_PATH))
_HOME_TEXT: Final = re.compile(r"(?:\$\{\w{1,64}:?[-=?])?(" + paths.HOME.pattern + r")\}?/?")
_MAX_WORD: Final = 2_048  # characters of a word that are looked at
_SETTERS: Final = frozenset({"export", "declare", "local", "readonly", "typeset"})
_WRITE_OPTIONS: Final = frozenset({"-o", "-O", "--output", "--output-document", "-out"})


class Step(NamedTuple):
    """One command of the script, and what it is given.

    Attributes:
        command: itself.
        program, arguments: what really runs.
        words: the labels of each argument.
        name: the labels of the program's name.
        given: those of its standard input.
    """

    command: Command
    program: str
    arguments: tuple[str, ...]
    words: tuple[Labels, ...]
    name: Labels
    given: Labels


class ShellFlow:
    """The labels of a script's words.

    Args:
        script: that was parsed.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self._variables: dict[str, Labels] = {}
        self._arguments: dict[tuple[str, str], Labels] = {}
        self._inputs: dict[str, Labels] = {}
        self._outputs: dict[str, Labels] = {}
        self._files: dict[str, Labels] = {}
        self._fed: dict[int, Labels] = {}  # standard input of a pipeline within a group, by its index
        self._groups: dict[int, Labels] = {}  # what a pipeline prints, by its index
        self._memo: dict[int, Labels] = {}  # what substitutions print, by the id of their commands, in one pass
        self._own = frozenset(function.name for function in script.functions)
        self._homes = _homes_of_lines(script.functions)
        for _ in range(_PASSES):
            before, self._memo = self._known(), {}
            for assignment in script.assignments:
                self._set(assignment.name, self.word(assignment.text, assignment.inner, assignment.line))
            for number, pipeline in enumerate(script.pipelines):
                self._run(number, pipeline)
            if self._known() == before:
                break

    def steps(self, number: int) -> list[Step]:
        """Return the commands of pipeline `number` with what each is given."""
        pipeline = self.script.pipelines[number]
        home = self._homes.get(pipeline[0].line, "")
        steps, given = list[Step](), self._fed.get(number, NONE) | self._inputs.get(home, NONE)
        for command in pipeline:
            step = self._step(command, given)
            steps.append(step)
            given = self._output(step)
        return steps

    def word(self, text: str, inner: tuple[Command, ...], line: int, *, whole: bool = True) -> Labels:
        """Return the labels of a word.

        Args:
            text: as `Command.argv` has words.
            inner: the commands in its substitutions.
            line: where it stands.
            whole: whether references in it are expanded.
        """
        text = text[:_MAX_WORD]
        found = {label for pattern, label in _PATHS if pattern.search(text)}
        if _HOME_TEXT.fullmatch(text):
            found.add(HOME_PATH)
        if text in tables.REVEALERS:
            found.add(REVEALER)
        found |= self._files.get(text, NONE) & {DROPPED}
        if not whole:
            return frozenset(found)
        for name in _REFERENCE.findall(text) if "$" in text else ():
            labels = self._referred(name, line)
            rest = labels if _only(text, name) else labels - {HOME_PATH, REVEALER, ASSEMBLED}
            found |= rest
        return frozenset(found) | (self._printed(inner) if inner else NONE)

    def _printed(self, commands: tuple[Command, ...]) -> Labels:
        """Return what commands one behind the other print, as those of a substitution do."""
        known = self._memo.get(id(commands))
        if known is None:
            known = NONE
            for command in commands:
                passed = known if command.argv[0] not in tables.TELLERS else NONE
                known = self._output(self._step(command, known)) | passed
            self._memo[id(commands)] = known
        return known

    def holds(self, step: Step, at: int) -> Labels:
        """Return the labels of what argument `at` brings: of the file too that it names."""
        text = step.arguments[at]
        return step.words[at] | self._content(text, step.words[at])

    def content(self, path: str) -> Labels:
        """Return what the file at a path is known to hold."""
        return self._files.get(path.strip("\"'"), NONE) & _CONTENTS

    def of_text(self, text: str, command: Command) -> Labels:
        """Return the labels of a redirection's target or of a setting."""
        return self.word(text, command.inner if "$(" in text or "`" in text or "<(" in text else (), command.line)

    def _known(self) -> int:
        tables_ = (self._variables, self._arguments, self._inputs, self._outputs, self._files, self._fed, self._groups)
        return sum(len(labels) for table in tables_ for labels in table.values())

    def _set(self, name: str, labels: Labels) -> None:
        if labels:
            self._variables[name] = self._variables.get(name, NONE) | labels

    def _referred(self, name: str, line: int) -> Labels:
        if not name.isdigit() and name not in "@*":
            return self._variables.get(name, NONE)
        function = self._homes.get(line, "")
        if name in "@*":
            return NONE.union(*(self._arguments.get((function, key), NONE) for key in "123456789"))
        return self._arguments.get((function, name), NONE)

    def _content(self, text: str, labels: Labels) -> Labels:
        held = self.content(text.partition("@")[2] if "@" in text[:64] else text)
        return held | ({SECRET} if SECRET_PATH in labels else NONE)

    def _step(self, command: Command, given: Labels) -> Step:
        program, arguments = program_of(command)
        skipped = len(command.argv) - len(arguments)
        flags = command.open or (True,) * len(command.argv)
        words = tuple(
            self.word(
                text, command.inner if "$(" in text or "`" in text or "<(" in text else (), command.line, whole=flag
            )
            for text, flag in zip(arguments, flags[skipped:], strict=False)
        )
        name = command.argv[skipped - 1] if skipped else ""
        return Step(command, program, arguments, words, self.of_text(name, command), given | self._read_in(command))

    def _read_in(self, command: Command) -> Labels:
        found = NONE
        for sign, target in command.redirects:
            if sign in ("<<", "<<<"):
                found |= self.of_text(target, command) & _CONTENTS
            elif sign.startswith("<"):
                found |= self._content(target, self.of_text(target, command))
        return found

    def _run(self, number: int, pipeline: Sequence[Command]) -> None:
        printed = NONE
        for step in self.steps(number):
            self._settle(step)
            printed = self._output(step)
        self._groups[number] = self._groups.get(number, NONE) | printed
        last = pipeline[-1]
        function = self._homes.get(last.line, "")
        if function and not any(sign.startswith((">", "&")) and "2" not in sign for sign, _ in last.redirects):
            self._outputs[function] = self._outputs.get(function, NONE) | printed

    def _settle(self, step: Step) -> None:
        """Take in what a command sets, writes and hands on."""
        command, program = step.command, step.program
        self._set_by(step)
        if program in self._own:
            for place, labels in enumerate(step.words[:9], start=1):
                key = (program, str(place))
                self._arguments[key] = self._arguments.get(key, NONE) | labels
            self._inputs[program] = self._inputs.get(program, NONE) | step.given
        for inside in range(*command.group):
            self._fed[inside] = self._fed.get(inside, NONE) | step.given
        self._write(step)

    def _set_by(self, step: Step) -> None:
        """Take in the variables that a command sets."""
        command, program = step.command, step.program
        for name, text in command.settings:
            self._set(name, self.of_text(text, command))
        if program in _SETTERS:
            for text, labels in zip(step.arguments, step.words, strict=False):
                name, equals, value = text.partition("=")
                if equals:
                    self._set(name, labels | self.word(value, (), command.line))
        if program in ("read", "mapfile", "readarray"):
            for name in step.arguments:
                self._set(name, step.given)
        if program == "printf" and step.arguments[:1] == ("-v",) and len(step.arguments) > 1:
            self._set(step.arguments[1], NONE.union(*step.words))

    def _write(self, step: Step) -> None:
        output, command = self._output(step), step.command
        targets = [target for sign, target in command.redirects if sign.startswith((">", "&")) and "2" not in sign]
        if step.program == "tee":
            targets += [name for name in step.arguments if not name.startswith("-")]
        if step.program in ("cp", "mv", "install", "ln") and len(step.arguments) > 1:
            output = NONE.union(*(self.holds(step, at) for at in range(len(step.arguments) - 1)))
            targets.append(step.arguments[-1])
        if step.program in ("tar", "zip", "7z") and len(step.arguments) > 1:
            targets += [text for text in step.arguments[:3] if not text.startswith("-")][:1]
        options = zip(step.arguments, step.arguments[1:], strict=False)
        targets += [path for option, path in options if _takes_path(step.program, option)]
        for target in targets:
            self._hold(
                target, output & _CONTENTS | ({DROPPED} if output & {FETCHED, DECODED, DROPPED} else NONE), command.line
            )

    def _hold(self, path: str, labels: Labels, line: int) -> None:
        path = path[:_MAX_WORD]
        if not labels or path in ("-", "/dev/null"):
            return
        self._files[path] = self._files.get(path, NONE) | labels
        if DROPPED not in labels:
            return
        name = next((name for name in _REFERENCE.findall(path) if _only(path, name)), "")
        if name.isdigit():
            key = (self._homes.get(line, ""), name)
            self._arguments[key] = self._arguments.get(key, NONE) | {DROPPED}
        elif name:
            self._set(name, frozenset({DROPPED}))

    def _output(self, step: Step) -> Labels:
        """Return what a command prints."""
        command, program, arguments = step.command, step.program, step.arguments
        if command.group != (0, 0):
            return NONE.union(*(self._groups.get(inside, NONE) for inside in range(*command.group)))
        if program in self._own:
            return self._outputs.get(program, NONE)
        if reveals(step):
            return frozenset({SECRET})
        if (
            program in tables.DOWNLOADERS
            or program in tables.CONVERSING
            or (program, *arguments[:1]) == ("openssl", "s_client")
        ):
            return frozenset({FETCHED})
        if program in tables.TELLERS or (program == "grep" and any(a in ("-q", "-c", "-qs", "-qE") for a in arguments)):
            return NONE
        words = NONE.union(*step.words)
        found = words | step.given
        if program not in tables.KEEPERS:
            found |= NONE.union(*(self.holds(step, at) for at in range(len(arguments))))
            found -= {SECRET_PATH, HOME_PATH, START_PATH, DROPPED, REVEALER}
        if decodes(program, arguments):
            found |= {DECODED}
        if _assembles(program, arguments):
            found |= {ASSEMBLED}
        return found


def reveals(step: Step) -> bool:
    """Whether a command prints the environment or what a store of keys holds."""
    program, arguments = step.program, step.arguments
    if REVEALER in step.name and program.startswith("$"):
        return True
    if program in ("env", "printenv"):
        return all(a.startswith("-") for a in arguments)
    if program in tables.REVEALERS:
        return arguments in ((), ("-p",), ("-x",), ("-px",), ("-xp",))
    if program == "compgen":
        return any(a in ("-e", "-v") for a in arguments)
    return not tables.KEY_STORES.get(program, frozenset[str]()).isdisjoint(arguments[:2])


def decodes(program: str, arguments: Sequence[str]) -> bool:
    """Whether a command decodes or unpacks its input."""
    if program in tables.UNPACKERS:
        return (
            any(a.startswith("-") and not a.startswith("--") and "d" in a for a in arguments)
            or "--decrypt" in arguments
        )
    if program == "tr":
        return any("A-Z" in a or "a-z" in a for a in arguments[:1]) and any(
            a.startswith(("N-ZA", "n-za")) for a in arguments
        )
    flags = tables.DECODERS.get(program)
    return flags is not None and (not flags or any(a in flags for a in arguments))


def _assembles(program: str, arguments: Sequence[str]) -> bool:
    """Whether a command makes a text of pieces, or of a text that does not show it."""
    if program in ("printf", "echo"):
        pieces = arguments[1:] if arguments[:1] and "%" in arguments[0] else arguments
        return len(pieces) > 1 or any(piece in ("$@", "$*", "${*}", "${@}") for piece in pieces)
    return program in ("rev", "tr", "xxd") or (program == "base64" and decodes(program, arguments))


def _takes_path(program: str, option: str) -> bool:
    if program == "wget":
        return option in ("-O", "--output-document") or (
            option.startswith("-") and option[1:2] != "-" and option.endswith("O")
        )
    if program in tables.DOWNLOADERS | {"openssl", "base64", "gpg"}:
        short = option.startswith("-") and not option.startswith("--") and option.endswith("o") and program == "curl"
        return option in _WRITE_OPTIONS - {"-O"} or short
    return False


def _only(text: str, name: str) -> bool:
    """Whether a word is a reference and nothing else, but for a slash or a star behind it."""
    return re.fullmatch(r"\$(?:\{!?)?" + re.escape(name) + r"(?::[-=?][^}]*)?\}?/?\*?", text) is not None


def _homes_of_lines(functions: Sequence[Function]) -> dict[int, str]:
    """Return the function that each line is in: the innermost."""
    homes: dict[int, str] = {}
    for name, first, last in functions:
        for line in range(first, last + 1):
            homes.setdefault(line, name)
    return homes
