"""`validator tasks draft`: the draft of a task's truth."""

from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console

from miner.drafts import Readable, draft_document, draft_page, known_of, read_packed, readable, write_draft
from miner.scanners.osv import Advisories, advisories_for, documents_in
from sssa.cli.options import Json
from sssa.cli.output import print_json, print_line
from validator.tasks.folder import DRAFT_NAME, PAGE_NAME, label, located, undecided
from validator.tasks.source import TaskError

_SAMPLE: Final = "the sample of advisories that is shipped; --advisories names an export of osv.dev"


def draft(
    folder: Annotated[Path, typer.Argument(metavar="TASK_DIR", help="The folder of a packed task.")],
    advisories: Annotated[
        list[Path] | None,
        typer.Option(
            "--advisories",
            metavar="PATH",
            help="A folder, zip or file of OSV advisories, as osv.dev exports them; again for another ecosystem. "
            "Else the sample that is shipped.",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing draft.")] = False,
    as_json: Json = False,
) -> None:
    """Draft the truth of a packed task: what can be read, and TODO where a person decides.

    Writes task.draft.json, which no validator reads, and task.draft.txt, which says where everything was found. When
    no TODO is left in it and it is renamed to task.json, the draft is the task. Nothing of the bundle is run.
    """
    packed = read_packed(folder, replace=replace)
    bundle = readable(packed.files, packed.task.skill_type)
    known_advisories = _advisories(advisories, bundle) if advisories else None
    known = known_of(bundle, known_advisories)
    against = (
        _SAMPLE
        if known_advisories is None
        else f"{known_advisories.read} advisories, {known_advisories.unread} of them unread"
    )
    document = draft_document(packed, known)
    write_draft(folder, document, draft_page(packed, known, against))
    todo = undecided(msgspec.json.encode(document))
    if as_json:
        fields = [located(one).field for one in todo]
        print_json({"path": str(folder), "todo": fields, "draft": document, "known": known, "against": against})
        return
    for line in (*known.notes, *todo):
        print_line(line)
    print_line(f"{folder / DRAFT_NAME}: {packed.task.skill_type}, {len(todo)} fields to decide")
    print_line(f"{folder / PAGE_NAME}: where everything was found")


def _advisories(paths: list[Path], bundle: Readable) -> Advisories:
    with Console(stderr=True).status("reading advisories"):  # on a terminal alone
        known_advisories = advisories_for(documents_in(paths), bundle.pinned)
    if known_advisories.read == known_advisories.unread:
        raise TaskError(f"`{label(paths[0])}` holds no advisory in the form of OSV - at `--advisories`")
    return known_advisories
