"""A task source and a column: added as docs/architecture.md says, used, and thrown away."""

from pathlib import Path

from recipe_kit import Tree

from validator.store import schema_state, upgrade

MINERS = "validator/store/repositories/miners.py"


def test_a_task_source_gives_the_tasks_of_a_round(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.new(
        "validator/tasks/single.py",
        '''
        """A task source of one task."""

        import asyncio
        from pathlib import Path

        from sssa.protocol.skill_types import SkillType
        from validator.tasks.folder import read_task
        from validator.tasks.source import FETCH_S, Order
        from validator.tasks.source import SourcedTask, TaskError, TaskSourceError


        class SingleSource:
            """Gives the one task again and again."""

            def __init__(self, path: Path) -> None:
                self._path = path

            async def fetch(
                self, skill_type: SkillType, count: int, order: Order, within_s: float = FETCH_S
            ) -> list[SourcedTask]:
                """Return the task if it is of the type; see `TaskSource`."""
                try:
                    task = await asyncio.to_thread(read_task, self._path)
                except TaskError as error:
                    raise TaskSourceError(error.detail) from None
                return [task] if task.task.skill_type is skill_type else []

            async def reachable(self) -> bool:
                """Whether the task is there."""
                return self._path.exists()

            async def close(self) -> None:
                """Do nothing."""
        ''',
    )
    tree.put(
        "validator/settings/model.py",
        "    server_url: ServerUrl | None = _key(\n",
        '    single: PlainPath | None = _key(None, "The only task.", allowed="a path", example="task")\n'
        "    server_url: ServerUrl | None = _key(\n",
    )
    tree.after(
        "validator/daemon/world.py",
        "from validator.tasks.http import ",
        "from validator.tasks.single import SingleSource\n",
    )
    tree.put(
        "validator/daemon/world.py",
        "    return DirectorySource(tasks.directory)\n",
        "    if tasks.single is not None:\n"
        "        return SingleSource(tasks.single)\n"
        "    return DirectorySource(tasks.directory)\n",
    )
    tree.use("""
        import asyncio
        from pathlib import Path
        from world import tasks_of_all_types
        from validator.daemon.world import build_world
        from validator.kinds.assessment.supply import Bundles
        from sssa.scoring import CURRENT, version
        from validator.settings.load import load_settings
        from validator.settings.reference import example_toml
        from taskmaker.packing import write_task
        from validator.tasks.source import InTurn

        task = tasks_of_all_types()[0]
        write_task(task, Path("only"))
        Path("validator.toml").write_text(
            '[validator]\\nnetuid = 1\\n[wallet]\\nuri = "//Alice"\\n[chain]\\nkind = "simulated"\\n'
            'state = "chain.json"\\n[tasks]\\nsingle = "only"\\ncanaries = false\\n'
        )

        async def filled():
            world = build_world(load_settings(None, {}))
            assert await world.source.reachable()
            try:
                supply = Bundles(world.source, world.canary, world.random)
                return await supply.fill(version(CURRENT).rules, "0", InTurn(), b"salt")
            finally:
                await world.source.close()

        (packed,) = asyncio.run(filled())
        assert (packed.task.skill_type, packed.bundle) == (task.task.skill_type, task.bundle)
        assert '# single = "task"' in example_toml()
    """)
    tree.holds("a task source")


async def test_a_column_is_there_after_the_upgrade_of_an_old_store_and_keeps_its_value(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    url = f"sqlite:///{tmp_path / 'old.sqlite'}"
    await upgrade(url)
    assert await schema_state(url) == "current"
    tree.put(
        "validator/store/tables.py",
        '    Column("last_seen_block", BigInteger, nullable=False),\n',
        '    Column("last_seen_block", BigInteger, nullable=False),\n    Column("last_seen_epoch", BigInteger),\n',
    )
    tree.new(
        "migrations/versions/r9999_last_seen_epoch.py",
        f'''
        """The epoch in which a miner was seen last."""

        import sqlalchemy as sa
        from alembic import op

        revision = "r9999"
        down_revision = "{max(file.name[:5] for file in tree.folder.glob("migrations/versions/r*.py"))}"
        branch_labels = None
        depends_on = None


        def upgrade() -> None:
            """Take the step."""
            op.add_column("miners", sa.Column("last_seen_epoch", sa.BigInteger(), nullable=True))
        ''',
    )
    tree.after(
        MINERS,
        '                "last_seen_block": snapshot.block,',
        '                "last_seen_epoch": snapshot.epoch,\n',
    )
    tree.after(
        MINERS,
        "                last_seen_block=row.last_seen_block,",
        "                last_seen_epoch=row.last_seen_epoch,\n",
    )
    tree.put(
        "validator/store/rows.py",
        "    flags: int\n    dispatches: int\n",
        "    flags: int\n    dispatches: int\n    last_seen_epoch: int | None\n",
    )
    tree.use(
        """
        import asyncio, sys
        from datetime import UTC, datetime
        from alembic.autogenerate import compare_metadata
        from alembic.migration import MigrationContext
        from sssa.protocol.round import MetagraphSnapshot, Neuron
        from validator.store import open_store, schema_state, upgrade
        from validator.store.schema import VERSION_TABLE
        from validator.store.tables import metadata

        def differences(connection):
            options = {"version_table": VERSION_TABLE}
            return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

        async def main(url):
            assert await schema_state(url) == "behind"
            assert await upgrade(url) == "behind"
            async with open_store(url) as store:
                async with store.begin() as tx:
                    assert not await tx.connection.run_sync(differences)
                    neuron = Neuron("hk", 3, 1.0, False, None)
                    await tx.miners.seen(MetagraphSnapshot(1, 100, "ab" * 32, 1_767_225_600, 41, 20, None, (neuron,)))
                async with store.read() as tx:
                    (found,) = await tx.miners.listing(datetime.now(UTC))
            assert found.last_seen_epoch == 41

        asyncio.run(main(sys.argv[1]))
        """,
        url,
    )
    tree.holds("a column")
