"""Words that fill the slots of a text, drawn from lists.

A slot in a text is written between two `@`:

- `@host@`: an entry of the list `host`. It is drawn once: the next `@host@` of the same text is the same word.
- `@+host@`: another entry, drawn anew.
- `@secret.value@`: a field of an entry that is a table; one of its values where the field is a list.
- `@hex:40@`, `@number:2-250@`: drawn characters (`_ALPHABETS`), or a number; `@date@`, `@version@`.
- `@domain@`, `@pem.kind@`, `@pem.body@`: a host name and a private key that are nobody's (`look_alikes`).
- `@secret.value|base64@`: passed through filters (`_FILTERS`).

Entries hold slots themselves. Lists are data: `data/words`, the head of a template, an owner's folder.
"""

import base64
import codecs
import json
import re
import string
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sssa.protocol.errors import ValidatorError
from sssa.sources import Draws
from taskmaker.planting import look_alikes

Lists = Mapping[str, Sequence[Any]]
"""Texts, or tables of texts, by the name of their list."""
Spell = Callable[[str, str], str]
"""Make an identifier of the name of a list and a phrase in it."""

LONGEST: Final = 64 * 1024  # characters of one text
_NONE: Final[Mapping[str, Any]] = {}
_SLOT: Final = re.compile(
    r"@(?P<anew>\+?)(?P<name>[a-z][a-z0-9_]*)(?:\.(?P<field>[a-z_]+))?(?::(?P<size>[0-9]+(?:-[0-9]+)?))?"
    r"(?P<filters>(?:\|[a-z0-9]+(?::[0-9]/[0-9])?)*)@"
)
_MIXED: Final = string.ascii_letters + string.digits
_ALPHABETS: Final = {
    "base32": string.ascii_uppercase + "234567",
    "base64": _MIXED + "+/",
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "letters": string.ascii_letters,
    "mixed": _MIXED,
    "small": string.ascii_lowercase + string.digits,
}
_BUILT_IN: Final[Mapping[str, Callable[[Draws], Any]]] = {
    "date": Draws.date,
    "domain": look_alikes.domain,
    "pem": look_alikes.key,
    "version": Draws.version,
}
_ASCII: Final = 0x80


class WordsError(ValidatorError):
    """A word list or a template cannot be used."""


class NoWordsError(WordsError):
    """A list has no entry that could be drawn for this bundle."""


class Rows(NamedTuple):
    """A list that is drawn: `least` to `most` entries of the list `of` and the word `also`, sorted by a field `by`."""

    of: str
    least: int
    most: int
    also: str = ""
    by: str = ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _halves(text: str) -> tuple[str, str]:
    parts = text.split()
    middle = max(1, len(parts) // 2)
    return " ".join(parts[:middle]), " ".join(parts[middle:])


_FILTERS: Final[Mapping[str, Callable[[str], str]]] = {
    "base": lambda text: text.rpartition("/")[2],
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "capital": _capital,
    "cell": lambda text: text.replace("|", "\\|"),
    "concealed": lambda text: f"\u001b[8m{text}\u001b[0m",
    "escaped": lambda text: json.dumps(text)[1:-1],
    "first": lambda text: _halves(text)[0],
    "folder": lambda text: text.rpartition("/")[0],
    "hex": lambda text: text.encode().hex(),
    "joined": "\u2060".join,
    "json": lambda text: json.dumps(text, ensure_ascii=False),
    "kebab": lambda text: text.replace("_", "-").replace(" ", "-"),
    "lower": str.lower,
    "masked": lambda text: ", ".join(str(ord(letter) ^ 37) for letter in text),
    "plain": lambda text: re.sub(r"[()]", "", text),
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "second": lambda text: _halves(text)[1],
    "sentence": lambda text: _capital(text) + ".",
    "snake": lambda text: text.replace("-", "_").replace(" ", "_"),
    "spaced": lambda text: text.replace("-", " ").replace("_", " "),
    "tags": lambda text: "".join(chr(0xE0000 + ord(letter)) for letter in text if ord(letter) < _ASCII),
    "token": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "upper": str.upper,
}


def _filtered(value: str, filters: str) -> str:
    for one in filters.split("|")[1:]:
        name, _, share = one.partition(":")
        if name == "part":
            at, of = map(int, share.split("/"))
            value = value[len(value) * (at - 1) // of : len(value) * at // of]
        else:
            value = _FILTERS[name](value)
    return value


class Scope:
    """The words of one text: what was drawn so far, and the lists that the next ones come from.

    Args:
        draws: chooses.
        own: lists of the text: what their entries are made of is known to the whole text.
        lists: shared ones, what their entries are made of is known to them alone.
        known: words that are known already; they are not filled.
        rows: lists of several entries, drawn where they are asked for.
        spell: makes identifiers of the words of some lists; others it returns as they are.

    Attributes:
        marked: the row of a drawn list that a reviewer would point at.
    """

    def __init__(  # noqa: PLR0913 - all that words come from
        self,
        draws: Draws,
        own: Lists,
        lists: Lists,
        *,
        known: Mapping[Any, Any] = _NONE,
        rows: Mapping[str, Rows] = _NONE,
        spell: Spell = lambda _, phrase: phrase,
    ) -> None:
        self.draws = draws
        self.marked: Any = None
        self._own = own
        self._lists = lists
        self._known = known if isinstance(known, ChainMap) else ChainMap(dict(known))
        self._rows = rows
        self._spell = spell

    def child(self, given: Mapping[str, Any] = _NONE, own: Lists = _NONE) -> "Scope":
        """Return a scope that knows what this one knows, and keeps to itself what it draws."""
        known = self._known.new_child(dict(given))
        made = Scope(self.draws, {**self._own, **own}, self._lists, known=known, rows=self._rows, spell=self._spell)
        made.marked = self.marked
        return made

    def give(self, name: str, word: Any) -> None:
        """Let a name stand for a word."""
        self._known[name] = word

    def fill(self, text: str) -> str:
        """Return the text with its slots filled.

        Raises:
            NoWordsError: a list has no entry.
            WordsError: a slot has no list, is made of itself, or makes the text longer than 64 KiB.
        """
        filled = _SLOT.sub(self._slot, text)
        if len(filled) > LONGEST:
            raise WordsError(f"`{text[:40]}` has more than {LONGEST} characters")
        return filled

    def entry(self, name: str) -> Any:
        """Return what was drawn for a name, or draw it now."""
        if name not in self._known:
            own = name in self._own
            if not own and name not in self._lists:
                entry: Any = _BUILT_IN[name](self.draws)
            elif not (entries := self._own[name] if own else self._lists[name]):
                raise NoWordsError(name)
            else:
                entry = self.draws.pick(entries)
            if isinstance(entry, str):
                entry = self._spell(name, (self if own else self.child()).fill(entry))
            self._known[name] = entry
        return self._known[name]

    def rows(self, name: str) -> Sequence[Any]:
        """Return a list: one that is known or drawn, one of the text, a shared one, or a field of an entry."""
        head, _, field = name.partition(".")
        if field:
            return list(self.entry(head)[field])
        if name in self._rows and name not in self._known:
            self._known[name] = self._drawn(self._rows[name])
        for lists in (self._known, self._own, self._lists):
            if name in lists:
                return list(lists[name])
        raise WordsError(f"there is no list `{name}`")

    def _drawn(self, rows: Rows) -> list[Any]:
        chosen = list(map(self._settled, self.draws.some(self.rows(rows.of), rows.least, rows.most)))
        if rows.also:
            self.marked = self.entry(rows.also)
            chosen.append(self.marked)
        return sorted(chosen, key=lambda row: row[rows.by]) if rows.by else chosen

    def _settled(self, entry: Any) -> Any:
        """Return an entry with one word in each field that has several to choose from."""
        if isinstance(entry, str):
            return entry
        choose = {key for key, value in entry.items() if isinstance(value, list) and isinstance(value[0], str)}
        return {key: self.draws.pick(value) if key in choose else value for key, value in entry.items()}

    def _slot(self, match: re.Match[str]) -> str:
        name, field, size = match["name"], match["field"], match["size"]
        try:
            if size:
                low, _, high = size.partition("-")
                count = self.draws.number(int(low), int(high or low))
                made = [self.draws.pick(_ALPHABETS[name]) for _ in range(count)] if name != "number" else [str(count)]
                value = "".join(made)
            else:
                value = (self._without(name) if match["anew"] else self).word(name, field)
            return _filtered(value, match["filters"])
        except (LookupError, TypeError):
            raise WordsError(f"`{match[0]}`: no list, field, filter or alphabet has this name") from None
        except RecursionError:
            raise WordsError(f"`{match[0]}` is made of itself") from None

    def _without(self, name: str) -> "Scope":
        known = {key: one for key, one in self._known.items() if isinstance(key, str) and key != name}
        return Scope(self.draws, self._own, self._lists, known=known, rows=self._rows, spell=self._spell)

    def word(self, name: str, field: str | None = None) -> str:
        """Return what a slot of this name and field is filled with."""
        entry = self.entry(name)
        if not field:
            return str(entry)
        key = (id(entry), field)
        if key not in self._known:
            value = entry[field]
            filler = self if name in self._own else self.child()
            self._known[key] = filler.fill(str(self.draws.pick(value) if isinstance(value, list) else value))
        return str(self._known[key])


def check_lists(scope: Scope, lists: Lists) -> None:
    """Fill every text of the lists once.

    Raises:
        WordsError: one cannot be filled; the text names the list.
    """
    for name, entries in lists.items():
        for entry in entries:
            for text in _texts(entry):
                try:
                    scope.child().fill(text)
                except WordsError as error:
                    raise WordsError(f"{name}: {error.detail}") from None


def _texts(entry: Any) -> list[str]:
    inside = list(entry.values()) if isinstance(entry, Mapping) else entry if isinstance(entry, list) else None
    return [str(entry)] if inside is None else [text for one in inside for text in _texts(one)]
