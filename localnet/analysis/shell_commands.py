"""What a shell script would run: simple commands, joined to pipelines."""

from dataclasses import dataclass, field
from typing import NamedTuple

from localnet.analysis.shell_words import traced


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command.

    Attributes:
        line: where it begins, from 1.
        argv: its words, quotes removed; the program first.
        literal: whether the words are what the shell would see, nothing left to expand.
        redirects: (operator, target) pairs; a here-document's target is its text.
        inner: the commands in its substitutions.
    """

    line: int
    argv: tuple[str, ...]
    literal: bool
    redirects: tuple[tuple[str, str], ...]
    inner: tuple["Command", ...]

    def __str__(self) -> str:
        """Return it as execution tracing would show it (redirections are not shown)."""
        return " ".join(map(traced, self.argv))


Pipeline = tuple[Command, ...]


class Script(NamedTuple):
    """A script's pipelines in the order in which they are written, those of substitutions before their users.

    Attributes:
        pipelines: the commands of each.
        complete: False if the script has more than is read of one, or has what the grammar does not know.
    """

    pipelines: list[Pipeline]
    complete: bool


@dataclass
class Draft:
    """A command that is being read; its redirections may come after everything else."""

    line: int
    argv: list[str] = field(default_factory=list)
    literal: bool = True
    redirects: list[tuple[str, str]] = field(default_factory=list)
    inner: list["Draft"] = field(default_factory=list)

    def finished(self) -> Command:
        """Return the command."""
        inner = tuple(draft.finished() for draft in self.inner)
        return Command(self.line, tuple(self.argv) or (":",), self.literal, tuple(self.redirects), inner)
