"""Reader of the TOML file of `devnet --miners`: behaviours with counts, and an owner's miners that run elsewhere."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Annotated, Final, NamedTuple, get_args

import msgspec
from msgspec import Meta

from localnet.roster import OWN, Kind, PlannerKind, Resident
from sssa.files import read_at_most
from sssa.protocol import typed
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import is_hotkey
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.text import printable

_MAX_FILE: Final = 64 * 1024
_MOST: Final = 200
_PLANNERS: Final[tuple[str, ...]] = get_args(PlannerKind)
BEHAVIOURS: Final[tuple[str, ...]] = (*get_args(Kind), *_PLANNERS)
_Name = Annotated[str, Meta(min_length=1, max_length=40)]
_Some = Annotated[int, Meta(ge=1, le=64)]


class MinersFileError(ValidatorError):
    """The miners cannot be used."""


class Entry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One table `[[miners]]`."""

    behaviour: str | None = None
    count: _Some | None = None
    types: Annotated[tuple[SkillType, ...], Meta(min_length=1, max_length=6)] | None = None
    max_concurrent: _Some | None = None
    name: _Name | None = None
    url: str | None = None
    hotkey: str | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    miners: Annotated[tuple[Entry, ...], Meta(min_length=1, max_length=_MOST)]


class Elsewhere(NamedTuple):
    """A miner that runs elsewhere.

    Attributes:
        name: what it is called here.
        url: where it listens.
        hotkey: its own; None: it is asked.
        field: its table in the file.
    """

    name: str
    url: str
    hotkey: str | None
    field: str


class MinersFile(NamedTuple):
    """Content of a miners' file: residents, and miners that run elsewhere."""

    residents: tuple[Resident, ...]
    elsewhere: tuple[Elsewhere, ...]


def read_miners(path: Path) -> MinersFile:
    """Return what the file says.

    Raises:
        MinersFileError: it cannot be read, or a field is wrong; the text names it.
    """
    shown = printable(str(path))
    try:
        data = read_at_most(path, _MAX_FILE)
    except (OSError, ValueError) as error:
        raise MinersFileError(f"{shown}: cannot be read: {getattr(error, 'strerror', None) or 'bad name'}") from None
    try:
        return parse_miners(data)
    except MinersFileError as error:
        raise MinersFileError(f"{shown}: {error.detail}") from None


def parse_miners(data: bytes) -> MinersFile:
    """Return what a file of these bytes says (MinersFileError: it says nothing that can be used)."""
    if len(data) > _MAX_FILE:
        raise MinersFileError(f"larger than {_MAX_FILE} bytes")
    try:
        file = typed.convert(tomllib.loads(data.decode()), _File)
    except UnicodeDecodeError:
        raise MinersFileError("not UTF-8") from None
    except msgspec.ValidationError as error:
        raise MinersFileError(printable(str(error)).replace("`$.", "`").replace("`$`", "the file")) from None
    except (ValueError, RecursionError) as error:  # besides TOMLDecodeError: numbers of thousands of digits
        raise MinersFileError(f"not TOML: {printable(str(error))}") from None
    return _roster(file.miners)


def _roster(entries: tuple[Entry, ...]) -> MinersFile:
    residents: list[Resident] = []
    elsewhere: list[Elsewhere] = []
    numbers: Counter[str] = Counter()
    for at, entry in enumerate(entries):
        field = f"miners[{at}]"
        if entry.url is None:
            residents += _residents(entry, field, numbers)
        else:
            elsewhere.append(_elsewhere(entry, entry.url, field, len(elsewhere) + 1))
        if len(residents) + len(elsewhere) > _MOST:
            raise MinersFileError(f"more than {_MOST} miners - at `{field}.count`")
    taken = Counter([*(one.name for one in residents), *(one.name for one in elsewhere)])
    for one in elsewhere:
        if taken[one.name] > 1:
            raise MinersFileError(f"there is another miner of the name `{printable(one.name)}` - at `{one.field}.name`")
    return MinersFile(tuple(residents), tuple(elsewhere))


def _residents(entry: Entry, field: str, numbers: Counter[str]) -> list[Resident]:
    kind = entry.behaviour
    if kind is None:
        raise MinersFileError(f"name a behaviour or a url - at `{field}`")
    if kind not in BEHAVIOURS:
        known = ", ".join(BEHAVIOURS)
        raise MinersFileError(f"no behaviour `{printable(kind, 40)}`, one of: {known} - at `{field}.behaviour`")
    _refuse(entry, ("name", "hotkey"), "goes with a url only", field)
    many = entry.count or 1
    numbers[kind] += many
    last = numbers[kind]
    return [_resident(entry, kind, f"{kind}-{number}", field) for number in range(last - many + 1, last + 1)]


def _resident(entry: Entry, kind: str, name: str, field: str) -> Resident:
    plans = kind in _PLANNERS
    types = entry.types or ((SkillType.WORKFLOW,) if plans else ASSESSED_TYPES)
    if plans != (types == (SkillType.WORKFLOW,)) or (not plans and SkillType.WORKFLOW in types):
        what = "plans workflows and nothing else" if plans else "plans no workflows"
        raise MinersFileError(f"`{kind}` {what} - at `{field}.types`")
    if plans:
        _refuse(entry, ("max_concurrent",), "goes with assessments only", field)
    # The file's own words became literals above.
    return Resident(name, kind, max_concurrent=entry.max_concurrent or 2, skill_types=types)  # type: ignore[arg-type]


def _elsewhere(entry: Entry, url: str, field: str, number: int) -> Elsewhere:
    _refuse(entry, ("behaviour", "count", "types", "max_concurrent"), "does not go with a url", field)
    if entry.hotkey is not None and not is_hotkey(entry.hotkey):
        raise MinersFileError(f"`{printable(entry.hotkey, 60)}` is no ss58 address - at `{field}.hotkey`")
    return Elsewhere(entry.name or f"{OWN}-{number}", url, entry.hotkey, field)


def _refuse(entry: Entry, names: tuple[str, ...], why: str, field: str) -> None:
    for name in names:
        if getattr(entry, name) is not None:
            raise MinersFileError(f"{why} - at `{field}.{name}`")
