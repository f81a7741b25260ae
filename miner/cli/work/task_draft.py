"""What `validator tasks draft` does: a bundle is read, and what is known of it written down for somebody to decide."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.status import Status

from miner.drafting.draft import draft_document, write_draft
from miner.drafting.exports import documents_in
from miner.drafting.known import Bundle, known_of, readable
from miner.drafting.osv import Advisories, advisories_for
from miner.drafting.packed import read_packed
from miner.drafting.page import draft_page
from validator.cli.output import print_json, print_line
from validator.protocol.skill_types import SkillType
from validator.tasks.check import located
from validator.tasks.drafts import PAGE_NAME, undecided
from validator.tasks.folder import DRAFT_NAME, label
from validator.tasks.source import TaskError

_SAMPLE: Final = "the sample of advisories that is shipped; --advisories names an export of osv.dev"


def draft(  # noqa: PLR0913 - each is an option
    what: Path,
    advisories: list[Path] | None,
    skill_type: SkillType | None,
    output: Path | None,
    *,
    replace: bool,
    as_json: bool,
) -> None:
    """Write the draft of a task, and say what is left to decide."""
    packed = read_packed(what, output, skill_type, replace=replace)
    bundle = readable(packed.files)
    found = _advisories(advisories, bundle) if advisories else None
    known = known_of(bundle, packed.skill_type, found)
    against = _SAMPLE if found is None else f"{found.read} advisories, {found.unread} of them unread"
    document = draft_document(packed, known)
    write_draft(packed, document, draft_page(packed, known, against))
    todo = undecided(msgspec.json.encode(document))
    if as_json:
        fields = [located(one).field for one in todo]
        print_json({"path": str(packed.folder), "todo": fields, "draft": document, "known": known, "against": against})
        return
    for line in (*known.notes, *todo):
        print_line(line)
    print_line(f"{packed.folder / DRAFT_NAME}: {packed.skill_type}, {len(todo)} fields to decide")
    print_line(f"{packed.folder / PAGE_NAME}: where everything was found")


def _advisories(paths: list[Path], bundle: Bundle) -> Advisories:
    console = Console(stderr=True)
    shown = console.status("reading advisories") if console.is_terminal else nullcontext()
    with shown as status:
        watcher = partial(_say, status) if status is not None else _say_nothing
        found = advisories_for(documents_in(paths), bundle.pinned, watcher)
    if found.read == found.unread:
        raise TaskError(f"`{label(paths[0])}` holds no advisory in the form of OSV - at `--advisories`")
    return found


def _say(status: Status, read: int) -> None:
    status.update(f"reading advisories: {read}")


def _say_nothing(_read: int) -> None:
    """Tell nobody: nobody looks."""
