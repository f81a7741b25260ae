"""`validator tasks draft` and `goals`: the draft of a task's truth, and the benchmark of workflow goals."""

import os
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console

from miner.drafts import Readable, draft_document, draft_page, known_of, read_packed, readable, write_draft
from miner.goals.goal_files import BENCHMARK, local_goals
from miner.scanners.osv import Advisories, advisories_for, documents_in
from miner.services.catalogue import SERVICES, Service, ServiceAddress
from validator.cli.options import Json, assessed
from validator.cli.output import print_json, print_line
from validator.files import made_folders, new_folder
from validator.protocol.signatures import is_hotkey
from validator.protocol.skill_types import SkillType
from validator.protocol.text import printable
from validator.protocol.workflow_task import is_service_url
from validator.tasks.check import located
from validator.tasks.folder import DRAFT_NAME, PAGE_NAME, WORKFLOW_NAME, label, undecided
from validator.tasks.source import TaskError

_SAMPLE: Final = "the sample of advisories that is shipped; --advisories names an export of osv.dev"


def draft(  # noqa: PLR0913, PLR0917 - one for each option
    what: Annotated[Path, typer.Argument(metavar="TASK_DIR|BUNDLE", help="A task's folder, or a packed bundle.")],
    advisories: Annotated[
        list[Path] | None,
        typer.Option(
            "--advisories",
            metavar="PATH",
            help="A folder, zip or file of OSV advisories, as osv.dev exports them; again for another ecosystem. "
            "Else the sample that is shipped.",
        ),
    ] = None,
    skill_type: Annotated[
        SkillType | None, typer.Option("--type", callback=assessed, help="Skill type; else the task's, else guessed.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "--out", metavar="DIR", help="The folder of a bundle; else tasks/NAME.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing draft.")] = False,
    as_json: Json = False,
) -> None:
    """Draft the truth of a packed task: what can be read, and TODO where a person decides.

    Writes task.draft.json, which no validator reads, and task.draft.txt, which says where everything was found. When
    no TODO is left in it and it is renamed to task.json, the draft is the task. Nothing of the bundle is run.
    """
    packed = read_packed(what, output, skill_type, replace=replace)
    bundle = readable(packed.files, packed.skill_type)
    found = _advisories(advisories, bundle) if advisories else None
    known = known_of(bundle, found)
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


def goals(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder for each goal is made here.")],
    service: Annotated[
        list[str],
        typer.Option(
            "--service",
            metavar="NAME=URL,HOTKEY",
            help="Where a service is called and who signs its answers: text, code, retrieval or transform; once for "
            "each.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Write the benchmark's goals as workflow.json for your own services.

    Those are written that the given services can reach. The services offer the actions of the local network's, at its
    prices and speeds (docs/workflows.md).
    """
    addresses = _addresses(service)
    found = local_goals(addresses, None)
    if not found:
        raise TaskError("no goal takes these services alone - at `--service`")
    whole = folder.absolute()
    if os.path.lexists(whole):
        raise TaskError(f"`{label(folder)}` exists already: name another folder")
    with made_folders(whole.parent), new_folder(whole) as made:
        for name, task in found.items():
            (made / name).mkdir()
            (made / name / WORKFLOW_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(task)) + b"\n")
    if as_json:
        listed = [{"name": name, "type": task.type} for name, task in found.items()]
        print_json({"benchmark": BENCHMARK, "goals": listed})
    else:
        print_line(f"{folder}: {len(found)} goals of benchmark {BENCHMARK}")


def _advisories(paths: list[Path], bundle: Readable) -> Advisories:
    with Console(stderr=True).status("reading advisories"):  # on a terminal alone
        found = advisories_for(documents_in(paths), bundle.pinned)
    if found.read == found.unread:
        raise TaskError(f"`{label(paths[0])}` holds no advisory in the form of OSV - at `--advisories`")
    return found


def _addresses(given: list[str]) -> dict[Service, ServiceAddress]:
    found: dict[Service, ServiceAddress] = {}
    for one in given:
        name, _, address = one.partition("=")
        url, _, hotkey = address.rpartition(",")
        if name not in SERVICES:
            raise TaskError(f"`{printable(name, 60)}` is none of {', '.join(SERVICES)} - at `--service`")
        if name in found:
            raise TaskError(f"{name}: at most once - at `--service`")
        if not is_service_url(url):
            raise TaskError(f"{name}: not a plain http or https url before the comma - at `--service`")
        if not is_hotkey(hotkey):
            raise TaskError(f"{name}: not an ss58 address behind the comma - at `--service`")
        found[name] = ServiceAddress(url, hotkey)
    return found
