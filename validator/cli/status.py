"""`validator status`: one validator on one screen, once or again and again. Only reads."""

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from sssa.cli.options import Config, Json
from sssa.cli.output import byte_size, cell, print_json, print_line, span
from sssa.cli.rendering import table_lines
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from sssa.protocol.times import format_time, parse_time
from validator.cancellation import run_whole
from validator.chain.interface import SLOW_S
from validator.cli.session import settings_of
from validator.daemon.exits import Exit
from validator.health.catalogue import CONDITIONS, FATAL
from validator.health.status import Observer, OnChain, OnChainWeights, Overview, Stored
from validator.store.rows import LogHead, RoundRecord, WeightsRecord
from validator.store.size import FEW_DAYS, DiskUse

_BAR: Final = 24
_LABEL: Final = 10
_LINE: Final = 1_000
_UNDER_WAY: Final = ("prepared", "submitted", "unknown")
_YEAR_DAYS: Final = 365
_RESULTS: Final = "round> state reason ago> tasks> dispatches> accepted> failed> mean_Q> mean_consensus>"


class NoTerminalError(ValidatorError):
    """Only a terminal can be watched."""


def status(
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=1, max=3_600, help="Pause between two looks.")] = 5.0,
    with_chain: Annotated[bool, typer.Option("--chain/--no-chain", help="Whether the chain is asked.")] = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show one validator on one screen: store, health report and chain; --watch repeats it.

    A validator may be running or not. With --watch and --json it prints a document per look. Exit 3: the store cannot
    be read.
    """
    observer = Observer(settings_of(config), with_chain=with_chain)
    console = Console(markup=False, highlight=False, emoji=False)
    if watch and not as_json and not console.is_terminal:
        raise NoTerminalError("standard output is none; leave --watch out, or add --json for a document per look")
    if watch:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts it behind it has it ignored
        with suppress(KeyboardInterrupt):
            run_whole(_watch(observer, every, None if as_json else console))
        return
    overview = run_whole(_once(observer))
    if as_json:
        print_json(overview)
    else:
        for line in screen(overview):
            print_line(line)
    if overview.store is None:
        raise typer.Exit(Exit.NOT_READY)


async def _once(observer: Observer) -> Overview:
    try:
        return await observer.look()
    finally:
        await observer.close()


async def _watch(observer: Observer, every_s: float, console: Console | None) -> None:
    try:
        if console is None:
            while True:
                print_json(await observer.look())
                await asyncio.sleep(every_s)
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(Text("\n".join(screen(await observer.look()))), refresh=True)
                await asyncio.sleep(every_s)
    finally:
        await observer.close()


def screen(overview: Overview) -> list[str]:
    """Return the whole screen; every line is harmless."""
    lines = [*_head(overview), "", *_body(overview)]
    if warnings := list(_warnings(overview)):
        lines += ["", "to look at:", *(f"  {warning}" for warning in warnings)]
    return [printable(line, _LINE) for line in lines]


def _head(overview: Overview) -> Iterator[str]:
    running = overview.running
    if running.report is not None:
        yield f"A validator runs: {running.status}, {running.address}{_since(overview)}"
    else:
        where = f" at {running.address}" if running.address else ""
        yield f"NO VALIDATOR ANSWERS{where} ({running.status}); what follows is what is stored, and the chain"
    yield f"netuid {overview.netuid}, hotkey {overview.hotkey or 'unknown'}, {format_time(overview.at)}"


def _since(overview: Overview) -> str:
    report: Mapping[str, Any] = overview.running.report or {}
    version, started = report.get("version"), report.get("started_at")
    try:
        up = f", up {span((overview.at - parse_time(started, 'started_at')).total_seconds())}" if started else ""
    except (TypeError, ValueError):
        up = ""
    return f", version {version}{up}"


def _body(overview: Overview) -> Iterator[str]:
    if overview.hotkey is None:
        yield _line("wallet", f"unknown: {overview.problems['wallet']}")
    yield from _chain(overview)
    if overview.store is None:
        yield _line("store", f"unknown: {overview.problems['store']}")
        return
    yield from _weights(overview, overview.store)
    yield from _counts(overview.store)
    yield from _disk(overview.disk)
    yield _line("log", _log(overview.store.log))
    yield _line("round", _in_hand(overview.store.in_hand, overview.at))
    yield ""
    yield from _rounds(overview.store, overview.at)


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL}} {text}"


def _chain(overview: Overview) -> Iterator[str]:
    chain = overview.chain
    if chain is None:
        yield _line("chain", f"unknown: {overview.problems['chain']}")
        return
    yield _line("role", _role(chain))
    if (own := chain.figures) is not None:
        yield _line(
            "trust",
            f"{own.trust:.2f}, median {own.median_trust:.2f} of {own.validators} validators; rank {own.rank} by"
            f" dividends ({own.dividends:.2%}), {own.emission_alpha:.4g} alpha in the last epoch",
        )
    head = chain.head
    at = f" at {chain.endpoint}" if chain.endpoint else ""
    slow = f"; slow: {chain.latency_s:.1f} s a call{at}" if (chain.latency_s or 0.0) > SLOW_S else ""
    age = span(overview.at.timestamp() - head.time)
    yield _line("block", f"{head.number}, {age} old; {chain.neurons} neurons{slow}")
    yield _line("epoch", f"{head.epoch} {_progress(chain)}")
    for endpoint, why in chain.unhealthy_endpoints.items():
        yield _line("endpoint", f"{endpoint} is not used: {why}")


def _role(chain: OnChain) -> str:
    me = chain.me
    if me is None:
        return "NOT REGISTERED on this subnet"
    permit = "validator permit" if me.validator_permit else "NO VALIDATOR PERMIT"
    return f"uid {me.uid}, {permit}, stake {me.stake_tao:g} TAO (least {chain.min_stake_tao:g})"


def _progress(chain: OnChain) -> str:
    head, start, end = chain.head, chain.head.epoch_start, chain.head.epoch_end
    if start is None or end is None:
        return "(the chain does not tell its end)"
    passed = min(1.0, max(0.0, (head.number - start + 1) / max(1, end - start + 1)))
    full = round(passed * _BAR)
    due = chain.due_block - head.number
    when = f"due in {due} blocks" if due > 0 else "due now or sent"
    return f"[{'#' * full}{'.' * (_BAR - full)}] {passed:.0%}, until block {end}; weights {when}"


def _weights(overview: Overview, stored: Stored) -> Iterator[str]:
    if not stored.weights:
        yield _line("weights", "none sent from this store yet")
    rows = {} if overview.chain is None else {row.mechid: row for row in overview.chain.weights}
    for record in stored.weights:
        ago = span((overview.at - record.updated_at).total_seconds())
        block = "" if record.block is None else f" at block {record.block}"
        sent = f"mechanism {record.mechid}: epoch {record.epoch} {record.shown_state}{block}, {ago} ago"
        yield _line("weights", sent + _on_chain(record, rows.get(record.mechid)))


def _on_chain(record: WeightsRecord, row: OnChainWeights | None) -> str:
    if row is None or row.last_update is None:
        return ""
    if row.commits:
        return f"; on chain {len(row.commits)} not revealed yet, the newest of block {row.commits[-1]}"
    if not row.row:
        return "; on chain: no weights"
    same = record.sent is not None and dict(record.sent) == row.row
    under_way = record.state in _UNDER_WAY
    whose = "as sent" if same else "from before it" if under_way else "NOT what this store sent last"
    return f"; on chain {len(row.row)} targets, updated at block {row.last_update}, {whose}"


def _counts(stored: Stored) -> Iterator[str]:
    miners = stored.miners
    yield _line(
        "miners",
        f"{miners.registered} registered, {miners.declaring} declare what counts, {miners.scored} have a score; "
        f"{miners.seen} ever seen",
    )
    yield _line("flags", f"{stored.flags} standing on {miners.flagged} hotkeys, {miners.ejected} ejected")
    total, reasons = sum(stored.unpaid.values()), ", ".join(f"{many} {one}" for one, many in stored.unpaid.items())
    yield _line("unpaid", f"{total} windows: {reasons}" if total else "none")
    yield _line("executions", ", ".join(f"{many} {state}" for state, many in stored.executions.items()) or "none")


def _disk(disk: DiskUse | None) -> Iterator[str]:
    if disk is None:
        return
    grows = "" if disk.per_day is None else f", {byte_size(disk.per_day)} a day over seven days"
    room = "" if disk.free is None else f"; {byte_size(disk.free)} free{_days(disk.days_left)}"
    yield _line("disk", f"{byte_size(disk.bytes)}{grows}{room}")


def _log(head: LogHead | None) -> str:
    if head is None:
        return "no receipt yet"
    return f"receipt {head.sequence} of {head.issued_at}, digest {head.digest}"


def _days(days_left: float | None) -> str:
    if days_left is None:
        return ""
    return ", full in more than a year" if days_left > _YEAR_DAYS else f", full in {days_left:.0f} days"


def _in_hand(record: RoundRecord | None, at: datetime) -> str:
    if record is None:
        return "none in hand"
    age = span((at - record.started_at).total_seconds())
    return f"{record.round_id} in hand for {age}: {record.task_count} tasks, {record.dispatch_count} dispatches"


def _rounds(stored: Stored, at: datetime) -> Iterator[str]:
    if not stored.rounds:
        yield "no rounds yet"
        return
    yield from table_lines(
        _RESULTS,
        (
            (
                one.round_id,
                one.state,
                one.reason if one.reason != one.state else None,
                span((at - (one.settled_at or one.started_at)).total_seconds()),
                one.task_count,
                one.dispatch_count,
                one.accepted_count,
                one.failed_count,
                one.mean_quality,
                one.mean_consensus,
            )
            for one in stored.rounds
        ),
        styled=False,
    )


def _warnings(overview: Overview) -> Iterator[str]:
    yield from overview.running.conditions
    yield from overview.running.advice
    stored, chain = overview.store, overview.chain
    if chain is None and not overview.problems["chain"].startswith("not asked"):
        yield f"the chain cannot be read from here: {overview.problems['chain']}"
    if stored is None:
        return
    if stored.locked is not None:
        yield f"weights are locked: {cell(stored.locked)}. {FATAL['weights_locked'].advice}"
    days_left = None if overview.disk is None else overview.disk.days_left
    if days_left is not None and days_left < FEW_DAYS:
        yield f"disk: full in {days_left:.0f} days at this growth. {CONDITIONS['local_disk'].advice}"
    now = 0 if chain is None else chain.head.epoch
    for mechid, epoch in stored.confirmed.items():
        if epoch is not None and now - epoch > overview.weights_epochs:
            late = f"mechanism {mechid}: none confirmed since epoch {epoch}, now it is {now}"
            yield f"weights: {late}. {CONDITIONS['weights_old'].advice}"
