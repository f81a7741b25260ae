"""Common part of the scoring commands: JSON cases in, one result line each out, as in the specification's vectors.

One line on standard error for each bad file, exit 2 if any was bad.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import typer

from sssa.cli.errors import EXIT_INPUT
from sssa.cli.files import MAX_CASE, UnreadableError, read_case
from sssa.protocol.errors import ValidatorError
from sssa.protocol.skill_types import WINDOW_TYPES
from sssa.protocol.sssa import Document, Sssa, Text, check_sssa
from sssa.protocol.strict_json import SchemaError, decode
from sssa.protocol.text import printable
from sssa.scoring import VERSIONS, UnknownScoringVersionError, WeightPlan, version

Files = Annotated[list[str], typer.Argument(help="JSON documents; `-` is standard input.")]
_PLACE: Final = re.compile(r"(?s)(.*) - at `(.*)`")

DEFAULT: Final = "1.0.0"  # the version of a case without one


class Named(msgspec.Struct, frozen=True):
    """The version that a case names."""

    scoring_version: Text = DEFAULT


class Case(Document, frozen=True, kw_only=True):
    """A case: its values, and the version that scores it."""

    scoring_version: Text = DEFAULT


class Form(NamedTuple):
    """A form of case, and the function that computes its result.

    It is one of the versions whose entries are tallies, or of those whose entries are not; None: of all.
    """

    kind: Any
    compute: Callable[[Any], Any]
    tallies: bool | None = None

    def fits(self, name: str) -> bool:
        """Return whether cases of this version have this form."""
        return self.tallies in {None, version(name).pays_tallies}


def form_for(forms: Sequence[Form], name: str) -> Form:
    """Return the form of a version's cases.

    Raises:
        SchemaError: this program does not know the version, or it has no such cases.
    """
    try:
        version(name)
    except UnknownScoringVersionError as error:
        raise SchemaError(f"{error} - at `$.scoring_version`") from None
    fitting = next((form for form in forms if form.fits(name)), None)
    if fitting is None:
        others = ", ".join(one for one in VERSIONS if any(form.fits(one) for form in forms))
        raise SchemaError(f"{name} computes no such thing; write one of {others} - at `$.scoring_version`")
    return fitting


def compute_files(files: Iterable[str], *forms: Form) -> None:
    """Print the result of every file in turn; a bad one does not stop the others."""
    failed = False
    for name in files:
        try:
            data = read_case(name)
            form = form_for(forms, decode(data, Named, limit=MAX_CASE).scoring_version)
            result = form.compute(decode(data, form.kind, limit=MAX_CASE))
        except (ValidatorError, OSError) as error:
            typer.echo(complaint(name, error), err=True)
            failed = True
        else:
            sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
            sys.stdout.buffer.flush()
    if failed:
        raise typer.Exit(EXIT_INPUT)


def complaint(name: str, error: Exception) -> str:
    """Return one line: file, field, fault."""
    shown = printable(name)
    if isinstance(error, UnreadableError):
        return f"{shown}: $: cannot be read: {error.fault}"
    text = error.detail if isinstance(error, SchemaError) else str(error)
    place = _PLACE.fullmatch(text)
    fault, field = (place[1], place[2]) if place else (text, "$")
    return f"{shown}: {printable(field)}: {printable(fault, 400)}"


def refuse_repeated(hotkeys: Iterable[str], field: str, of_item: str = ".hotkey") -> None:
    """Raise SchemaError if a hotkey is twice in `field`, where `of_item` leads from an item to it."""
    earlier: set[str] = set()
    for i, hotkey in enumerate(hotkeys):
        if hotkey in earlier:
            raise SchemaError(f"this hotkey is in it twice - at `$.{field}[{i}]{of_item}`")
        earlier.add(hotkey)


def require_types(names: Iterable[str], where: str, types: Sequence[str] = WINDOW_TYPES) -> None:
    """Raise SchemaError for a name that is no skill type."""
    for name in names:
        if name not in types:
            raise SchemaError(f"must be one of {', '.join(types)} - at `{where}.{name}`")


def plan_document(plan: WeightPlan) -> dict[str, Any]:
    """Return the weights of a case's result, by kind (SPEC 11)."""
    return {
        "scores": {
            hotkey: {"assessment": score, "workflow": plan.workflows[hotkey]}
            for hotkey, score in plan.assessments.items()
        },
        "unpaid": plan.unpaid,
        "weights": plan.weights,
        "unallocated": plan.unallocated,
    }


def check_attestation(sssa: Sssa, where: str) -> None:
    """Check an SSSA beyond its types (SchemaError: naming the field)."""
    try:
        check_sssa(sssa)
    except SchemaError as error:
        raise SchemaError(error.detail.replace("at `", f"at `{where}.")) from None
