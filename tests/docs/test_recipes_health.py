"""A condition and a setting: added as docs/architecture.md says, used, and thrown away."""

from pathlib import Path

from recipe_kit import Tree

WATCHING = "validator/daemon/watches.py"


def test_a_condition_is_in_every_view_of_the_catalogue(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.put(
        "validator/health/catalogue.py",
        """    Condition(
        "chain_slow",
""",
        """    Condition(
        "gates_hopeless",
        "workers",
        "Answers wait for more than an hour.",
        "Replace the machine.",
        "measures how long answers wait for a worker",
        _LOAD,
    ),
    Condition(
        "chain_slow",
""",
    )
    tree.put(
        WATCHING,
        '            board.mark("gates_behind",',
        """            hopeless = f"one has waited for {waited:.0f} s" if waited > 60 * _BEHIND_S else None
            board.mark("gates_hopeless", hopeless)
            board.mark("gates_behind",""",
    )
    tree.use("""
        import asyncio
        from types import SimpleNamespace
        from validator.cli.reference import pages
        from validator.daemon.watches import GateWatch
        from validator.health.alerts import rules
        from validator.health.board import Board
        from validator.health.report import HealthState
        from sssa.sources import SystemClock
        from validator.telemetry.metrics import Metrics

        async def watched(waited: float) -> tuple[dict, bytes]:
            clock = SystemClock()
            metrics = Metrics(clock, "1")
            health = HealthState(clock, 60.0, "1", Board(clock, metrics.condition))
            watch = asyncio.create_task(GateWatch(SimpleNamespace(behind_s=waited), clock, health).run())
            await asyncio.sleep(0.01)
            watch.cancel()
            return health.report().document(), metrics.render()

        fine, metrics = asyncio.run(watched(30.0))
        assert fine["status"] == "ok" and fine["checks"]["workers"]["ok"], fine
        assert b'validator_condition{condition="gates_hopeless"} 0.0' in metrics
        bad, metrics = asyncio.run(watched(4000.0))
        assert [one["name"] for one in bad["conditions"]] == ["gates_behind", "gates_hopeless"], bad
        assert bad["conditions"][1]["advice"] == "Replace the machine."
        assert b'validator_condition{condition="gates_hopeless"} 1.0' in metrics
        assert "gates_behind|gates_hopeless|chain_slow" in rules()
        assert "| `gates_hopeless` | degraded | Answers wait for more than an hour. |" in pages()["conditions.md"]
    """)
    tree.holds("a condition")


def test_a_setting_is_read_from_file_and_environment_and_documented(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.put(
        "validator/settings/model.py",
        "    retention_bundles_days: int = _key(",
        """    retention_hours: int = _key(1, "How often retention looks.", unit="hours", ge=1, le=24)
    retention_bundles_days: int = _key(""",
    )
    tree.put(
        "validator/daemon/assembly.py",
        "settings.store.retention_raw_days,",
        "settings.store.retention_raw_days * settings.store.retention_hours,",
    )
    tree.use("""
        from pathlib import Path
        from validator.settings.load import SettingsError, load_settings
        from validator.settings.reference import example_toml

        file = Path("validator.toml")
        file.write_text("[validator]\\nnetuid = 1\\n[store]\\nretention_hours = 3\\n")
        assert load_settings(file, {}).store.retention_hours == 3
        assert load_settings(file, {"VALIDATOR_STORE__RETENTION_HOURS": "5"}).store.retention_hours == 5
        try:
            load_settings(file, {"VALIDATOR_STORE__RETENTION_HOURS": "99"})
        except SettingsError as error:
            assert "store.retention_hours" in str(error) and "24" in str(error), error
        else:
            raise AssertionError
        assert "# How often retention looks." in example_toml()
        assert "# retention_hours = 1" in example_toml() or "retention_hours = 1" in example_toml()
    """)
    tree.holds("a setting")
