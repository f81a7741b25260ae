"""What a shell script would run: simple commands, joined to pipelines."""

from dataclasses import dataclass, field
from typing import NamedTuple

from miner.analysis.shell_tables import DURATION, WRAPPERS
from miner.analysis.shell_words import traced


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command.

    Attributes:
        line: where it begins, from 1.
        argv: its words, quotes removed; the program first.
        literal: whether the words are what the shell would see, nothing left to expand.
        redirects: (operator, target) pairs; a here-document's target is its text.
        inner: the commands in its substitutions.
        open: for each word, whether something is left in it to expand.
        settings: (name, text) pairs of the variables that are set for it alone.
        group: the range of the script's pipelines that a group, a loop or a subshell holds; the command is all of it.
    """

    line: int
    argv: tuple[str, ...]
    literal: bool
    redirects: tuple[tuple[str, str], ...]
    inner: tuple["Command", ...]
    open: tuple[bool, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    group: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        """Return it as execution tracing would show it (redirections are not shown)."""
        return " ".join(map(traced, self.argv))


Pipeline = tuple[Command, ...]


def program_of(command: Command) -> tuple[str, tuple[str, ...]]:
    """Return the program that really runs (behind sudo, env, timeout, …), without its folder, and its arguments."""
    words = list(command.argv)
    while len(words) > 1 and words[0].rpartition("/")[2] in WRAPPERS:
        rest = words[1:]
        while len(rest) > 1 and (rest[0].startswith("-") or "=" in rest[0] or DURATION.fullmatch(rest[0])):
            rest = rest[1:]
        if rest[0].startswith("-") or "=" in rest[0]:
            break
        words = rest
    return words[0].rpartition("/")[2] if words else "", tuple(words[1:])


class Assignment(NamedTuple):
    """A variable that is set, or that a loop runs over words.

    Attributes:
        line: from 1.
        name: of the variable.
        text: its value, as `Command.argv` has words.
        inner: the commands in its substitutions.
        joined: whether the script spells the value out in pieces.
    """

    line: int
    name: str
    text: str
    inner: tuple[Command, ...]
    joined: bool = False


class Function(NamedTuple):
    """A function of the script, with its first and last line."""

    name: str
    first: int
    last: int


class Script(NamedTuple):
    """A script's pipelines in the order in which they are written, those of substitutions before their users.

    Attributes:
        pipelines: the commands of each.
        complete: False if the script has more than is read of one, or has what the grammar does not know.
        assignments: in their order.
        functions: inner ones before outer ones.
    """

    pipelines: list[Pipeline]
    complete: bool
    assignments: tuple[Assignment, ...] = ()
    functions: tuple[Function, ...] = ()


@dataclass
class Draft:
    """A command that is being read; its redirections may come after everything else."""

    line: int
    argv: list[str] = field(default_factory=list)
    literal: bool = True
    redirects: list[tuple[str, str]] = field(default_factory=list)
    inner: list["Draft"] = field(default_factory=list)
    open: list[bool] = field(default_factory=list)
    settings: list[tuple[str, str]] = field(default_factory=list)
    group: tuple[int, int] = (0, 0)

    def finished(self) -> Command:
        """Return the command."""
        inner = tuple(draft.finished() for draft in self.inner)
        argv, redirects = tuple(self.argv) or (":",), tuple(self.redirects)
        return Command(
            self.line, argv, self.literal, redirects, inner, tuple(self.open), tuple(self.settings), self.group
        )
