"""`validator tasks …`: packs, seeds, checks and serves folders of tasks; retires tasks in the store (SPEC 13, 16)."""

import asyncio
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from sssa.cli.errors import EXIT_NO, say_no
from sssa.cli.options import Config, HotkeyUri, Json, assessed, checked_hotkeys, group
from sssa.cli.output import picked, print_json, print_line
from sssa.cli.rendering import print_table, progress
from sssa.protocol import typed
from sssa.protocol.limits import MIB
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.task import Windows
from sssa.protocol.text import count, printable
from sssa.sources import SystemClock
from taskmaker.check import check_tasks
from taskmaker.package_packing import Rebuilt, pack_path, rebuild
from taskmaker.packing import Packed, PackOptions
from taskmaker.seeding import Base, Seeded, Seeding, read_bases, seeded_all, write_seeded
from validator.cli.session import ask_store, change_store, clean_at_sigterm, signer_of
from validator.daemon.signals import Stop
from validator.tasks.folder import DRAFT_NAME, find_tasks, located
from validator.telemetry import configure_logging

if TYPE_CHECKING:
    from validator.store import Transaction

TASKS = group()
_WINDOW: Final = re.compile(r"(primary|auditor)=([0-9]{1,5}(?:\.[0-9]{1,3})?):([0-9]{1,5}(?:\.[0-9]{1,3})?)", re.ASCII)
_ENDINGS: Final = (".tar.gz", ".tgz", ".tar", ".whl", ".zip")
_NAME: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")
_MOST_BYTES: Final = 8 * MIB


@TASKS.command()
def pack(  # noqa: PLR0913, PLR0917 - the options of a command
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="A folder, zip, wheel, tar, sdist or npm package, or the name of an installed distribution.",
        ),
    ] = None,
    skill_type: Annotated[
        SkillType | None,
        typer.Option(
            "--type", callback=assessed, help="Skill type; else the manifest's, else guessed from what is inside."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "--out",
            metavar="DIR",
            help="The task's folder, else tasks/NAME; without SOURCE the folder of all tasks' folders, else tasks.",
        ),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON truth object; without it there is none (D-7).")
    ] = None,
    window: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=T_MIN:DEADLINE",
            help="Seconds; once for primary and once for auditor. Else the standard profile.",
        ),
    ] = None,
    canary: Annotated[
        str | None, typer.Option(metavar="NAME", help="The bundle's file that takes the marker; else chosen.")
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON: takes what was packed, pinned by hash. Without SOURCE all that is in it is packed again.",
        ),
    ] = None,
    package: Annotated[
        str | None,
        typer.Option(
            metavar="REFERENCE",
            help="Where SOURCE was downloaded from, for --manifest: pypi:NAME==VERSION, npm:NAME@VERSION or "
            "git+URL@REVISION, then #subdirectory=FOLDER if it is a part of that.",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing task.")] = False,
    as_json: Json = False,
) -> None:
    """Make a task from local files: task.json and bundle.tar.gz. Nothing of it is run.

    With --manifest and without SOURCE: exit 1 if a package is missing, or hashes otherwise than the manifest says.
    """
    clean_at_sigterm()
    if what is None:
        if manifest is None:
            raise typer.BadParameter("name a SOURCE, or a --manifest of packages to pack again")
        if skill_type or truth or window or canary or package:
            raise typer.BadParameter("--type, --truth, --window, --canary and --package go with a SOURCE")
        _pack_again(manifest, output or Path("tasks"), replace=replace, as_json=as_json)
        return
    if package is not None and manifest is None:
        raise typer.BadParameter("--package is recorded in a manifest: name it with --manifest")
    out = output or _task_folder(what)
    options = PackOptions(skill_type, truth, _windows(window), canary, replace)
    packed = pack_path(what, out, options, manifest, package)
    if as_json:
        print_json(_packed_document(packed, out))
    else:
        _print_packed(packed, out)


def _pack_again(manifest: Path, output: Path, *, replace: bool, as_json: bool) -> None:
    """Pack all that is in a manifest again. Exit 1 if anything is missing or hashes otherwise."""
    done: list[Rebuilt] = []
    for one in rebuild(manifest, output, replace=replace):
        done.append(one)
        if not as_json:
            bundle = f"bundle {one.package.bundle_sha256}"
            print_line(f"{one.path}: {one.fault or (f'exists, {bundle}' if one.there else bundle)}")
    faults = sum(one.fault is not None for one in done)
    if as_json:
        print_json({"packages": [_rebuilt_document(one) for one in done]})
    else:
        print_line(f"{len(done)} packages, {faults} refused")
    if faults:
        raise typer.Exit(EXIT_NO)


def _windows(texts: Sequence[str] | None) -> Windows | None:
    """Return the windows of both roles, None where none are given (typer.BadParameter)."""
    if not texts:
        return None
    windows: dict[str, tuple[float, float]] = {}
    for text in texts:
        match = _WINDOW.fullmatch(text)
        if match is None:
            raise typer.BadParameter(f"{printable(text, 60)} is not ROLE=T_MIN:DEADLINE", param_hint="--window")
        windows[match[1]] = float(match[2]), float(match[3])
    if len(windows) != len(texts) or len(windows) != len(Windows.__struct_fields__):
        raise typer.BadParameter("give primary and auditor, once each", param_hint="--window")
    try:
        return typed.convert(windows, Windows)
    except msgspec.ValidationError as error:
        raise typer.BadParameter(str(error), param_hint="--window") from None


def _task_folder(what: str) -> Path:
    """Return tasks/NAME after the folder, archive or distribution `what`."""
    name = Path(what).name or Path(what).resolve().name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return Path("tasks") / (name if name not in {"", ".", ".."} else Path(what).resolve().name or "task")


def _packed_document(packed: Packed, out: Path) -> dict[str, Any]:
    task = packed.task.task
    return {
        "path": out,
        "skill_type": task.skill_type,
        "skill_type_reason": packed.reason,
        "bundle_sha256": task.bundle_sha256,
        "bundle_bytes": len(packed.task.bundle),
        "files": packed.files,
        **picked(packed.pin, "version artifact"),
        **picked(task, "provenance windows"),
        "canary": task.canary.file if task.canary else None,
        "notes": packed.notes,
    }


def _rebuilt_document(one: Rebuilt) -> dict[str, Any]:
    of = one.package
    return {**picked(of, "name source"), "path": one.path, **picked(of, "bundle_sha256"), **picked(one, "there fault")}


def _print_packed(packed: Packed, out: Path) -> None:
    task = packed.task.task
    for note in packed.notes:
        print_line(note)
    pin = packed.pin
    if pin.version:
        print_line(f"version {pin.version}")
    if pin.artifact:
        print_line(f"{pin.artifact.name}, sha256 {pin.artifact.sha256}")
    marker = f", marker in {task.canary.file}" if task.canary else ""
    print_line(f"{out}: {task.skill_type}, {packed.files} files, {len(packed.task.bundle)} bytes{marker}")
    print_line(f"{task.skill_type}: {packed.reason}")
    print_line(f"bundle {task.bundle_sha256}, provenance {task.provenance}")


@TASKS.command()
def check(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Task folders or archives, workflow.json files, or folders of them."),
    ],
    as_json: Json = False,
) -> None:
    """Check tasks: one line per problem. Exit 1 if there is any.

    Notes say what a truth leaves out, and what needs a container engine.
    """
    checked = [task for root in directories for task in check_tasks(root)]
    problems = sum(len(task.problems) for task in checked)
    if as_json:
        tasks = [(task.path, list(map(located, task.problems)), list(map(located, task.notes))) for task in checked]
        print_json({"tasks": [{"path": path, "problems": bad, "notes": notes} for path, bad, notes in tasks]})
    else:
        for task in checked:
            for problem in task.problems:
                print_line(f"{task.path}: {problem}")
            for note in task.notes:
                print_line(f"{task.path}: note: {note}")
        drafts = sum(task.path.name == DRAFT_NAME for task in checked)
        and_drafts = f", {drafts} drafts" if drafts else ""
        print_line(f"{len(checked) - drafts} tasks{and_drafts}, {problems} problems")
    if problems:
        raise typer.Exit(EXIT_NO)


@TASKS.command()
def seed(  # noqa: PLR0913, PLR0917 - the options of a command, in text and JSON
    bundles: Annotated[
        list[str],
        typer.Argument(
            metavar="BUNDLE",
            help="Task folders (truth absent or ALLOW) or folders of them, bundles, or whatever `tasks pack` takes.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Where the tasks' folders go.")] = Path(
        "tasks"
    ),
    word: Annotated[
        str | None,
        typer.Option(
            "--seed",
            metavar="WORD",
            help="The same word gives the same tasks: keep it secret, it is their truth. Else one is drawn.",
        ),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", min=0, max=1_000, help="Tasks with planted faults for each bundle.")
    ] = 4,
    skill_type: Annotated[
        SkillType | None,
        typer.Option("--type", help="Skill type of what is no task yet; else the manifest's, else guessed."),
    ] = None,
    shapes: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Your own shapes of faults, like tasks.shapes.", show_default=False),
    ] = None,
    domains: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="HOST", help="A host that faults lead to, as tasks.domains; may be repeated."),
    ] = None,
    ordinary: Annotated[
        int | None,
        typer.Option(
            "--ordinary",
            min=0,
            max=1_000,
            help="Tasks without faults and truth for each bundle, that planted ones hide among; else --count.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Plant known faults in benign bundles, and write tasks whose truth names all of them, with ordinary tasks.

    As a rule a planted task has eight faults of different kinds; one in eight has none, one in eight another number. A
    third of them each is ALLOW, REVIEW and BLOCK. Nothing is written over, and nothing is left where it fails. A file
    seeded-*.txt next to the tasks notes their bundles, by which doctor knows them from packed ones.
    """
    if skill_type is not None and skill_type not in ASSESSED_TYPES:
        raise typer.BadParameter("a workflow has no bundle", param_hint="--type")
    hiding = count if ordinary is None else ordinary
    if not count + hiding:
        raise typer.BadParameter("with --count 0, say how many ordinary tasks to make", param_hint="--ordinary")
    # Only this command plants.
    from taskmaker.analysers import find_analyser, findings_before  # noqa: PLC0415 - see above
    from taskmaker.planting.shapes import Own, company_with, shapes_with  # noqa: PLC0415 - see above

    own, analyser = Own(shapes, tuple(domains or ())), find_analyser()
    chosen = secrets.token_hex(16) if word is None else word
    how = Seeding(chosen, count, shapes_with(own), hiding, company_with(own))
    clean_at_sigterm()
    noted: dict[str, list[str]] = {}

    def bases() -> Iterator[Base]:
        for base in (base for what in bundles for base in read_bases(what, skill_type)):
            noted[base.name] = list(
                dict.fromkeys([*noted.get(base.name, []), *base.notes, findings_before(base, analyser)])
            )
            yield base

    with progress("planting", None) as step:
        made = []
        for one in write_seeded(seeded_all(bases(), how), output):
            made.append(_seeded_document(one, output))  # and not the task: there may be thousands, of megabytes
            step()
    if as_json:
        print_json({"seed": chosen, "notes": noted, "tasks": made})
        return
    for name, notes in noted.items():
        for note in notes:
            print_line(f"{name}: {note}")
    _print_seeded(made, drawn=None if word is not None else chosen)


def _seeded_document(one: Seeded, output: Path) -> dict[str, Any]:
    task, planted = one.task.task, one.planted
    truth = planted.truth
    return {
        "path": str(output / one.name),
        "base": one.base,
        "skill_type": task.skill_type,
        "bundle_sha256": task.bundle_sha256,
        "verdict": None if task.truth is None else truth.verdict,
        "risk": None if task.truth is None else truth.reference_risk,
        "wanted": planted.wanted,
        "findings": [
            {
                "kind": fault.kind,
                "difficulty": fault.shape.difficulty,
                **picked(fault.plant, "category severity"),
                "evidence_ref": fault.place,
            }
            for fault in planted.faults
        ],
    }


def _print_seeded(made: Sequence[Mapping[str, Any]], drawn: str | None) -> None:
    print_table(
        "task kind difficulty severity evidence",
        [
            (
                Path(one["path"]).name,
                finding["kind"],
                finding["difficulty"],
                finding["severity"],
                finding["evidence_ref"],
            )
            for one in made
            for finding in one["findings"]
        ],
    )
    for one in made:
        number, wanted = len(one["findings"]), one["wanted"]
        placed = f"{number} of {wanted} faults (no place for more)" if number < wanted else f"{number} faults"
        judged = (
            f"{placed}, {one['verdict']}, risk {one['risk']:.4f}" if one["verdict"] else "ordinary, without a truth"
        )
        print_line(f"{one['path']}: {one['skill_type']}, {judged}")
    if drawn is not None:
        print_line(f"seed {drawn}: keep it secret, or forget it")


@TASKS.command()
def retire(  # noqa: PLR0913, PLR0917 - the options of a command
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID|SHA256", help="Tasks' ids, or digests of bundles or goals.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", dir_okay=False, exists=True, help="More of them, one in a line."),
    ] = None,
    before: Annotated[
        datetime | None,
        typer.Option("--before", metavar="DATE", help="Only tasks that no round has had since then, UTC."),
    ] = None,
    skill_types: Annotated[
        list[SkillType] | None, typer.Option("--type", help="Only tasks of this type; may be repeated.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: Config = None,
) -> None:
    """Retire tasks of past rounds: public exports show their truth, and this validator never gives them again.

    A task is known by its source bundle, or its workflow's document: one that comes again is as retired. There is no
    way back, for what was exported once is known. Exit 1: no such task is named, or the answer is no.
    """
    named = _named(names or [], file)
    if named is None and not skill_types and before is None:
        raise typer.BadParameter("name tasks, or give --file, --before or --type")
    since = before and before.replace(tzinfo=UTC)

    async def unretired(tx: "Transaction") -> list[str]:
        known = await tx.retired.known(named, skill_types=tuple(skill_types or ()), before=since)
        retired = await tx.retired.among(known)
        return [one for one in known if one not in retired]

    unretired_tasks = ask_store(config, lambda tx, _: unretired(tx))
    if not unretired_tasks and named is not None:
        say_no("no task of a past round is named that is not retired yet; `validator tasks retired` lists those")
    if not unretired_tasks:
        print_line("no task to retire")
        return
    tasks = count(len(unretired_tasks), "task")
    question = f"Retire {tasks}? Their truth becomes public; there is no way back"
    if not yes and not (sys.stdin.isatty() and typer.confirm(question)):
        say_no("nothing was retired; --yes does not ask")
    now = datetime.now(UTC)
    added = change_store(config, lambda tx, _: tx.retired.add(unretired_tasks, now))
    print_line(f"retired: {added}")


@TASKS.command()
def retired(config: Config = None, as_json: Json = False) -> None:
    """List the retired tasks.

    By the digest of what they came from, first retired first.
    """
    tasks = ask_store(config, lambda tx, _: tx.retired.listing())
    if as_json:
        print_json({"retired": [{"source_sha256": sha256, "retired_at": at} for sha256, at in tasks]})
    elif not tasks:
        print_line("no retired tasks")
    else:
        print_table("source retired", tasks)


def _named(names: list[str], file: Path | None) -> frozenset[str] | None:
    """Return the ids and digests that are given; None where there are none (typer.BadParameter: one is neither)."""
    lines: list[str] = []
    if file is not None:
        data = file.read_bytes()[: _MOST_BYTES + 1]
        if len(data) > _MOST_BYTES:
            raise typer.BadParameter(f"larger than {_MOST_BYTES} bytes", param_hint="--file")
        lines = [one.strip() for one in data.decode("utf-8", "replace").splitlines()]
    given = [one.lower() for one in (*names, *(one for one in lines if one and not one.startswith("#")))]
    for one in given:
        if not _NAME.fullmatch(one):
            raise typer.BadParameter(f"`{printable(one, 80)}` is no task id (32 hex) and no sha256 (64 hex)")
    return frozenset(given) if names or file is not None else None


@TASKS.command()
def serve(  # noqa: PLR0913, PLR0917 - the options of a command
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of task folders.")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes any free one.")] = 9_338,
    validators: Annotated[
        list[str] | None,
        typer.Option(
            "--validator",
            metavar="HOTKEY",
            help="A hotkey that is served, required; repeat it for more. Tasks hold truth: nobody else gets any.",
        ),
    ] = None,
    hotkey_uri: HotkeyUri = None,
    config: Config = None,
) -> None:
    """Run a task server until it is interrupted; its hotkey signs every list of tasks."""
    served = checked_hotkeys(validators, "--validator")
    if served is None:
        raise typer.BadParameter(
            "name the hotkey of each validator that is served; tasks hold truth, which miners must not get",
            param_hint="--validator",
        )
    signer = signer_of(hotkey_uri, config)
    find_tasks(directory)
    configure_logging("info", "auto", sys.stderr)
    asyncio.run(_serve(directory, host, port, signer, served))


async def _serve(directory: Path, host: str, port: int, signer: Signer, validators: frozenset[str]) -> None:
    from taskmaker.task_server import BOUNDS, task_server  # noqa: PLC0415 - see above
    from validator.incoming.server import BoundedServer  # noqa: PLC0415 - only this command needs a web server
    from validator.tasks.directory import DirectorySource  # noqa: PLC0415 - see above

    stop = Stop()
    stop.listen()
    app = task_server(DirectorySource(directory), signer, SystemClock(), validators)
    server = await BoundedServer("tasks", app, BOUNDS).start(host, port)
    try:
        host, port = server.addresses[0]
        shown = f"[{host}]" if ":" in host else host
        print_line(f"serving {directory} at http://{shown}:{port} as {signer.hotkey}")
        await stop.requested.wait()
    finally:
        await server.close()
