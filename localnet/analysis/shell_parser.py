"""Shell scripts as pipelines of simple commands.

Control flow is dropped: what could run is read as if it ran once, in order.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from localnet.analysis.bounds import MAX_SHELL_TOKENS
from localnet.analysis.shell_words import Word, WordReader, traced

_BLANKS: Final = re.compile(r"(?:[ \t\r]|\\\n)+")
_COMMENT: Final = re.compile(r"#[^\n]*")
_OPERATOR: Final = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")
_REDIRECT: Final = re.compile(r"\d{0,2}(?:<<<|<<-|<<|>>|>&|<&|>\||<>|[<>])|&>>?")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", re.DOTALL)
_OPENING: Final = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "time", "{", "coproc"})
_CLOSING: Final = frozenset({"fi", "done", "esac", "}"})
_HEADERS: Final = frozenset({"for", "select", "case", "function"})
_MAX_INNER: Final = 4  # substitutions within substitutions


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
        complete: False if the script has more than is read of one.
    """

    pipelines: list[Pipeline]
    complete: bool


def parse_script(text: str, *, first_line: int = 1, depth: int = 0, variables: dict[str, str] | None = None) -> Script:
    """Return what the script would run.

    Args:
        text: the script.
        first_line: the number of its first line.
        depth: how many substitutions it stands in.
        variables: those that are known; assignments of literals are added.
    """
    return _Parser(text, first_line, depth, {} if variables is None else variables).run()


@dataclass
class _Draft:
    """A command that is being read; its here-documents may come after everything else."""

    line: int = 0
    argv: list[str] = field(default_factory=list)
    literal: bool = True
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    inner: list[Command] = field(default_factory=list)

    def finished(self) -> Command:
        return Command(self.line, tuple(self.argv) or (":",), self.literal, tuple(self.redirects), tuple(self.inner))


class _Parser:
    def __init__(self, text: str, first_line: int, depth: int, variables: dict[str, str]) -> None:
        self.text = text
        self.depth = depth
        self.variables = variables
        self._words = WordReader(text, variables)
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._first_line = first_line
        self._done: list[Pipeline | list[_Draft]] = []
        self._pipeline: list[_Draft] = []
        self._draft = _Draft()
        self._heredocs: list[
            tuple[_Draft, int, str, bool]
        ] = []  # command, index of its redirection, delimiter, tabs dropped
        self._header = ""  # the keyword whose head is being read: for, select, case, function
        self._in_test = self._in_pattern = self._continues = False
        self._complete = True

    def run(self) -> Script:
        at = 0
        for _ in range(MAX_SHELL_TOKENS):
            if match := _BLANKS.match(self.text, at):
                at = match.end()
            if match := _COMMENT.match(self.text, at):
                at = match.end()
            if at >= len(self.text):
                break
            at = self._token(at)
        else:
            self._complete = False
        self._end_command()
        self._end_pipeline()
        done = [tuple(c.finished() if isinstance(c, _Draft) else c for c in pipeline) for pipeline in self._done]
        return Script(done, self._complete)

    def _token(self, at: int) -> int:
        text = self.text
        redirect = None if self._in_test else _REDIRECT.match(text, at)
        if redirect and text[redirect.end() - 1 : redirect.end() + 1] not in ("<(", ">("):
            return self._redirect(redirect[0], redirect.end())
        if match := _OPERATOR.match(text, at):
            if self._in_test and match[0] != "\n":
                self._draft.argv.append(match[0])
                return match.end()
            return self._operator(match[0], match.end())
        word, end = self._words.read(at)
        if end == at:  # a redirection sign within a test
            self._draft.argv.append(text[at])
            return at + 1
        self._word(word, at)
        return end

    def _word(self, word: Word, at: int) -> None:
        self._continues = False
        if not self._draft.argv:
            self._draft.line = self._draft.line or self._line(at)
            if self._keyword(word):
                return
            if match := _ASSIGNMENT.match(word.value):
                self._draft.assignments.append((match[1], Word(match[2], word.literal)))
                self._note_inner(word, at)
                return
            self._in_test = word.value == "[["
        elif self._header == "case" and word.value == "in":
            self._header, self._in_pattern, self._draft = "", True, _Draft()
            return
        elif self._header == "function" and word.value == "{":
            self._header, self._draft = "", _Draft()
            return
        self._in_test = self._in_test and word.value != "]]"
        self._draft.argv.append(word.value)
        self._draft.literal = self._draft.literal and word.literal
        self._note_inner(word, at)

    def _keyword(self, word: Word) -> bool:
        """Take the word if it is one of the grammar's that needs no command of its own."""
        if word.quoted:
            return False
        if word.value in _CLOSING:
            self._in_pattern = False
            return True
        if word.value in _HEADERS and not self._in_pattern:
            self._header = word.value
        return word.value in _OPENING and not self._in_pattern

    def _note_inner(self, word: Word, at: int) -> None:
        if word.inner and self.depth >= _MAX_INNER:
            self._complete = False
            return
        for text in word.inner:
            inner = parse_script(text, first_line=self._line(at), depth=self.depth + 1, variables=dict(self.variables))
            self._complete = self._complete and inner.complete
            self._done += inner.pipelines
            self._draft.inner += [command for pipeline in inner.pipelines for command in pipeline]

    def _redirect(self, operator: str, at: int) -> int:
        if match := _BLANKS.match(self.text, at):
            at = match.end()
        word, end = self._words.read(at)
        sign = operator.lstrip("0123456789")
        self._draft.line = self._draft.line or self._line(at)
        if sign in ("<<", "<<-"):
            self._heredocs.append((self._draft, len(self._draft.redirects), word.value, sign == "<<-"))
        self._draft.redirects.append((sign, word.value))
        self._note_inner(word, at)
        return end

    def _operator(self, operator: str, at: int) -> int:
        if operator == "\n" and self._heredocs:
            at = self._read_heredocs(at)
        if self._in_pattern and operator in ("|", "(", ")", "\n"):
            self._draft = _Draft()
            self._in_pattern = operator != ")"
            return at
        if operator == "(":
            if self._draft.assignments and not self._draft.argv:  # an array's values
                return self.text.find(")", at) + 1 or len(self.text)
            if len(self._draft.argv) == 1 or self._header == "function":  # `name()` begins a function
                self._draft, self._header = _Draft(), ""
            return at
        if operator == "\n" and self._continues:
            return at
        self._in_pattern = operator in (";;", ";;&", ";&")
        self._end_command()
        self._continues = operator in ("|", "|&", "&&", "||")
        if operator not in ("|", "|&"):
            self._end_pipeline()
        return at

    def _end_command(self) -> None:
        draft, self._draft = self._draft, _Draft()
        header, self._header, self._in_test = self._header, "", False
        if header:
            self.variables.pop(draft.argv[1] if len(draft.argv) > 1 else "", None)
        elif draft.argv or draft.redirects:
            self._pipeline.append(draft)
        else:
            for name, word in draft.assignments:
                if word.literal:
                    self.variables[name] = word.value
                else:
                    self.variables.pop(name, None)

    def _end_pipeline(self) -> None:
        if self._pipeline:
            self._done.append(self._pipeline)
            self._pipeline = []

    def _read_heredocs(self, at: int) -> int:
        for draft, index, delimiter, drop_tabs in self._heredocs:
            body: list[str] = []
            while at < len(self.text):
                end = self.text.find("\n", at)
                end = len(self.text) if end < 0 else end
                line = self.text[at:end].lstrip("\t") if drop_tabs else self.text[at:end]
                at = end + 1
                if line == delimiter:
                    break
                body.append(line)
            draft.redirects[index] = ("<<", "\n".join(body))
        self._heredocs = []
        return at

    def _line(self, at: int) -> int:
        return self._first_line + bisect_left(self._newlines, at)
