"""Figures of the daemon for metrics and /readyz, on virtual time."""

import sqlite3
from contextlib import closing
from typing import Any

from daemon_kit import Running, running
from sqlalchemy import insert
from state_kit import plant_flag
from world import VALIDATOR

from sssa.protocol.round import FlagRaised
from sssa.protocol.skill_types import SkillType
from validator.daemon.watches import FigureWatch
from validator.store.connections import WAL_KEPT
from validator.store.tables import bundles


def shown(daemon: Running, name: str, **labels: str) -> float | None:
    return daemon.metrics.registry.get_sample_value(f"validator_{name}", labels)


async def test_the_figures_of_a_daemon_that_runs(store_url: str) -> None:
    async with running(store_url) as daemon:
        async with daemon.daemon.store.begin() as tx:
            flag = FlagRaised("miner0", SkillType.DECLARATIVE, 0.9, 0.4, 0.25, 0.75, 9)
            await plant_flag(tx, flag, 0, daemon.clock.now())
        await daemon.until_block(12)
        assert (shown(daemon, "store_bytes") or 0) > 8192
        assert (shown(daemon, "store_write_seconds_count") or 0) > 10
        assert (shown(daemon, "disk_free_bytes", place="temporary") or 0) > 0
        assert shown(daemon, "flags_active") == 1
        assert shown(daemon, "permit") == 1
        assert shown(daemon, "clock_offset_seconds") == 0
        assert shown(daemon, "round_interval_seconds") == 20
        assert shown(daemon, "last_settled_timestamp_seconds") is not None
        assert shown(daemon, "last_dispatched_round_timestamp_seconds") is None  # nobody declares anything
        assert shown(daemon, "epochs_since_weights", mechid="0") == 1
        assert (shown(daemon, "chain_block_age_seconds") or 0) < 24
        async with daemon.daemon.store.read() as tx:
            told = await tx.receipts.get(round(shown(daemon, "receipts") or 0) - 1)
        assert told is not None
        report: Any = await daemon.health()
        assert (report["log"]["sequence"], report["log"]["digest"]) == (told.sequence, told.sha256)
        checks = report["checks"]
        assert checks["weights"]["epochs"] == 1
        assert checks["dispatches"]["rounds_without"] > 0
        assert checks["declarations"]["valid"] == 0
        assert checks["disk"]["temporary_free_mib"] > 0
        assert not [name for name, check in checks.items() if check["ok"] is None and name not in NOT_KNOWN]


async def test_a_forgotten_reader_is_named_once_the_log_is_large_and_over_when_it_ends(sqlite_url: str) -> None:
    async with running(sqlite_url) as daemon:
        board, store = daemon.daemon.board, daemon.daemon.store
        watch = next(one for one in daemon.daemon.services if isinstance(one, FigureWatch))
        watch.most_log = WAL_KEPT
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM rounds").fetchone()
            for number in range(5):
                async with store.begin() as tx:
                    row = {"sha256": str(number), "data": bytes(4 * 1024 * 1024), "stored_at": daemon.clock.now()}
                    await tx.connection.execute(insert(bundles).values(row))
            await daemon.until(lambda: board.is_active("store_pinned"))
            (shown,) = [one.detail for one in board.active() if one.condition.name == "store_pinned"]
            assert "store.sqlite-wal has 21 MiB; over 16 MiB since 2026-" in shown
        await daemon.until(lambda: not board.is_active("store_pinned"))
        assert await store.log_size() <= WAL_KEPT


NOT_KNOWN = {"answers", "descriptors", "executions", "trust"}


async def test_weights_that_do_not_come_are_old_after_three_epochs_and_new_once_they_are_there(sqlite_url: str) -> None:
    async with running(sqlite_url) as daemon:
        await daemon.until_block(9)
        assert len(await daemon.weights()) == 1
        daemon.subnet.set_permit(VALIDATOR.hotkey, validator_permit=False)
        board = daemon.daemon.board
        await daemon.until_block(38)
        assert not board.is_active("weights_old")
        await daemon.until_block(43)
        assert board.is_active("weights_old")
        assert shown(daemon, "epochs_since_weights", mechid="0") == 4
        daemon.subnet.set_permit(VALIDATOR.hotkey, validator_permit=True)
        await daemon.until(lambda: not board.is_active("weights_old"))
        assert shown(daemon, "epochs_since_weights", mechid="0") == 0
