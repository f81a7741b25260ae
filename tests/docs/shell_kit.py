"""The commands of the pages: what is in fenced blocks, and what is prepared for them to be run on."""

import asyncio
import re
import shlex
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from cli_commands import TREE
from doc_pages import DOCS, ROOT, pages
from old_rounds import MINERS, put
from sqlalchemy import insert

from validator.cli.reference import pages as made
from validator.store import open_store
from validator.store.repositories.weight_submissions import PlannedWeights
from validator.store.tables import weight_locks

_MADE = {DOCS / "reference" / name for name in made()}  # their commands are usages, not examples
PAGES = [page for page in pages() if page not in _MADE]
_BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(
    r"(?:[A-Z_]+=\S* )*(?:\$ )?(?:[\w./]*/)?"
    r"(?:validator|make|docker|docker-compose|pip|pip3|python3?|systemctl|btcli|install|export|for|git|curl|cp|mkdir|"
    r"chmod|chown|sudo|apt-get|promtool|pytest|uv)(?= )"
)


class Command(NamedTuple):
    """One command of a page (from the project's folder): its variables and its words, without the comment behind it."""

    page: str
    line: str
    variables: tuple[str, ...]
    argv: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.argv[0].rpartition("/")[2]


def commands() -> list[Command]:
    """Every one of every page, in order."""
    return [
        command
        for page in PAGES
        for block in blocks(page)
        for line in block.replace("\\\n", " ").splitlines()
        if _PROGRAM.match(line)
        for command in _commands(str(page.relative_to(ROOT)), line)
    ]


def blocks(page: Path) -> list[str]:
    """Its fenced blocks that may hold commands."""
    return [block for language, block in _BLOCK.findall(page.read_text()) if language in {"", "sh", "bash", "console"}]


def _commands(page: str, line: str) -> Iterator[Command]:
    # The old program has the same commands; the machine of the tests may have it alone.
    argv = shlex.split(line.removeprefix("$ ").replace("docker compose ", "docker-compose "), comments=True)
    count = next((number for number, word in enumerate(argv) if not re.fullmatch(r"[A-Z_]+=.*", word)), len(argv))
    yield Command(page, " ".join(argv), tuple(argv[:count]), tuple(argv[count:]))


def parse(argv: tuple[str, ...]) -> None:
    """Have `validator …` parsed by the program, without calling it.

    Raises:
        click.UsageError: there is no such command or option, or a value is not of its type.
    """
    context, command, rest = None, TREE, list(argv[1:])
    while True:
        context = command.make_context(argv[0] if context is None else command.name, rest, parent=context)
        if not getattr(command, "commands", None):
            return
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None, name


def prepared_store(played: Path, folder: Path) -> Path:
    """A store of some rounds whose weights are locked."""
    url = put(played, f"sqlite:///{folder}/store.sqlite")

    async def prepare() -> None:
        async with open_store(url) as store, store.begin() as tx:
            planned = PlannedWeights({MINERS[0]: 1.0}, {MINERS[0]: 1.0}, 0.0, {0: 65_535})
            await tx.weights.prepare(1, 0, 4, planned, datetime(2026, 1, 1, tzinfo=UTC))
            row = {"id": 1, "locked_at": datetime(2026, 1, 1, tzinfo=UTC), "seen": "somebody else's weights"}
            await tx.connection.execute(insert(weight_locks).values(**row))

    asyncio.run(prepare())
    return folder / "store.sqlite"


def prepare(folder: Path, store: Path, settings: str) -> None:
    """Lay into a folder what the pages' commands speak of."""
    for name in ("validator.sqlite", "demo.sqlite"):
        shutil.copy(store, folder / name)
    for name, database in (("validator.toml", "validator"), ("new.toml", "copied")):
        (folder / name).write_text(settings.format(database=database))
    (folder / "config").mkdir()
    (folder / "config" / "demo.toml").write_text((ROOT / "config" / "demo.toml").read_text())
    (folder / "docs").symlink_to(DOCS)
    (folder / "tasks").mkdir()
    (folder / "backup").mkdir()
    (folder / "osv").mkdir()
    (folder / "osv" / "one.json").write_text('{"id": "PYSEC-2018-28", "affected": []}')
    skill = ROOT / "miner" / "bundles" / "declarative-invoice-helper"
    shutil.copytree(skill / "bundle", folder / "my-skill")
    shutil.copy(skill / "truth.json", folder / "truth.json")
