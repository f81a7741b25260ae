"""Report of a soak: figures from its samples, and those that break a bound."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from soak.arithmetic import Slope, histogram_quantile, quantile, since, slope, worst_bound
from soak.logs import LogTail
from soak.sample import Sample

WARM_UP_S: Final = 600.0  # or a sixth, whichever is less
JUDGED_S: Final = 1800.0  # shorter soaks say nothing about growth
LAST: Final = 1 / 3  # growth is judged by the end: a miner's history fills for a hundred rounds, caches for longer
MOST_MIB_H: Final = 4.0
MOST_LAG_S: Final = 0.1
_HOUR_S: Final = 3600.0
_KIB_MIB: Final = 1024.0
_MEMORY: Final = ("rss_kb", "pss_kb", "used_kb", "kept_kb", "workers_kb")


@dataclass(frozen=True, slots=True)
class Report:
    """A soak's figures.

    Attributes:
        figures: what is measured to its value, in words.
        plain: the same as numbers, for a file.
        broken: what must not be, a sentence each.
    """

    figures: Mapping[str, str]
    plain: Mapping[str, Any]
    broken: Sequence[str] = field(default=())


def warm(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples after the warm-up."""
    began = min(WARM_UP_S, samples[-1].at_s / 6)
    return [sample for sample in samples if sample.at_s >= began]


def report(samples: Sequence[Sample], log: LogTail, epochs: float, faults: Sequence[str]) -> Report:
    """Return the result of a soak.

    Args:
        samples: in order, at least one.
        log: read to its end.
        epochs: how many passed.
        faults: what broke while it ran.
    """
    after = warm(samples)
    first, last = after[0], after[-1]
    end = [sample for sample in after if sample.at_s >= (1 - LAST) * last.at_s]
    memory = {name: (_growth(after, name), _growth(end, name)) for name in _MEMORY}
    blocks = (_per_hour(after, "blocks"), _per_hour(end, "blocks"))
    lag = _lag(after)
    settled = last.settled - first.settled
    plain: dict[str, Any] = {
        "seconds": last.at_s,
        "warm_up_s": first.at_s,
        "settled": log.settled,
        "slopes_mib_h": {name: [one and one._asdict() for one in both] for name, both in memory.items()},
        "slopes_blocks_h": [one and one._asdict() for one in blocks],
        "lag_s": {"p50": histogram_quantile(lag, 0.5), "p99": histogram_quantile(lag, 0.99), "at_most": _finite(lag)},
        "timers": max(lag.values(), default=0),
        "lag_sum_s": last.lag_s - first.lag_s,
        "loop_ran_s": last.ran_s - first.ran_s,
        "loop_waited_s": last.waited_s - first.waited_s,
        "log_bytes_per_round": _per(last.log_bytes - first.log_bytes, settled),
        "log_lines_per_round": _per(last.log_lines - first.log_lines, settled),
        "store_bytes_per_round": _per(last.store_bytes - first.store_bytes, settled),
        "round_s": {"p50": quantile(log.seconds, 0.5), "max": max(log.seconds, default=None)},
        "beyond_s": {"p50": quantile(log.beyond, 0.5), "max": max(log.beyond, default=None)},
        "descriptors": _fewest([one.descriptors for one in after]),
        "threads": _fewest([one.threads for one in after]),
        "epochs": epochs,
        "weights": dict(log.weights),
        "loud": {f"{level} {event}": many for (level, event), many in sorted(log.loud.items())},
        "events": dict(log.events.most_common()),
        "odd_lines": log.odd,
    }
    broken = [*faults, *_growing(memory["rss_kb"][1], last.at_s), *_late(plain)]
    return Report(_figures(plain, memory, blocks, samples[0], first, last, log), plain, broken)


def _growth(samples: Sequence[Sample], name: str) -> Slope | None:
    """Return by how many MiB an hour something grows that samples hold in KiB."""
    return slope([(one.at_s / _HOUR_S, getattr(one, name) / _KIB_MIB) for one in samples])


def _per_hour(samples: Sequence[Sample], name: str) -> Slope | None:
    return slope([(one.at_s / _HOUR_S, getattr(one, name)) for one in samples])


def _growing(memory: Slope | None, seconds: float) -> list[str]:
    if memory is None or seconds < JUDGED_S or memory.low <= MOST_MIB_H:
        return []
    return [f"the daemon's memory still grows by {memory.value:.1f} MiB an hour, at most {MOST_MIB_H:g} are borne"]


def _late(plain: Mapping[str, Any]) -> list[str]:
    p99 = plain["lag_s"]["p99"]
    if p99 is None or p99 <= MOST_LAG_S:
        return []
    waited, seconds = plain["loop_waited_s"], plain["seconds"] - plain["warm_up_s"]
    says = (
        f"the event loop's lag has a p99 of {1000 * p99:.0f} ms, at most {1000 * MOST_LAG_S:g} are borne; a busy "
        f"machine does that: its thread waited {waited:.1f} s of {seconds:.0f} for a processor"
    )
    return [says]


def _fewest(counts: Sequence[int]) -> tuple[int, int]:
    """Return the least of the first and of the last quarter: while a round is open there are more."""
    quarter = max(1, len(counts) // 4)
    return min(counts[:quarter]), min(counts[-quarter:])


def _lag(after: Sequence[Sample]) -> dict[float, int]:
    seen = [sample.lag for sample in after if sample.lag is not None]
    if not seen:
        return {}
    return since(seen[-1], seen[0]) if len(seen) > 1 else seen[0]


def _finite(lag: Mapping[float, int]) -> float | None:
    bound = worst_bound(lag)
    return None if bound is None or math.isinf(bound) else bound


def _per(amount: float, rounds: int) -> float | None:
    return amount / rounds if rounds else None


def _figures(  # noqa: PLR0913, PLR0917 - what the lines are made of
    plain: Mapping[str, Any],
    memory: Mapping[str, tuple[Slope | None, Slope | None]],
    blocks: tuple[Slope | None, Slope | None],
    start: Sample,
    first: Sample,
    last: Sample,
    log: LogTail,
) -> dict[str, str]:
    lag, seconds = plain["lag_s"], max(last.at_s - first.at_s, 1e-9)
    rows = {
        "rounds settled": f"{plain['settled']} in {last.at_s:.0f} s, the first {first.at_s:.0f} of them to warm up",
        "a round takes": f"p50 {_s(plain['round_s']['p50'])}, at most {_s(plain['round_s']['max'])}",
        "beyond its slowest answer": f"p50 {_s(plain['beyond_s']['p50'])}, at most {_s(plain['beyond_s']['max'])}",
    }
    for name, shown, kb in (
        ("rss_kb", "memory of the daemon (Rss)", last.rss_kb),
        ("pss_kb", "memory of the daemon (Pss)", last.pss_kb),
        ("used_kb", "of it in use outside Python's blocks", last.used_kb),
        ("kept_kb", "of it freed and kept by the C library", last.kept_kb),
        ("workers_kb", f"memory of its {last.workers} processes (Pss)", last.workers_kb),
    ):
        rows[shown] = f"{kb / _KIB_MIB:.1f} MiB at the end, {_slope(memory[name][0])}"
        rows[f"{shown}, last third"] = _slope(memory[name][1])
    rows["Python's blocks alive"] = f"{last.blocks} at the end, {_blocks(blocks[0])}"
    rows["Python's blocks alive, last third"] = _blocks(blocks[1])
    rows |= {
        "descriptors between rounds": f"{plain['descriptors'][0]} at first, {plain['descriptors'][1]} at the end",
        "threads": f"{plain['threads'][0]} at first, {plain['threads'][1]} at the end",
        "lag of the event loop": f"p50 {_ms(lag['p50'])}, p99 {_ms(lag['p99'])}, none over "
        f"{_ms(lag['at_most']) if lag['at_most'] else '5 s or more'}, {plain['timers']} timers",
        "thread of the event loop": f"ran {plain['loop_ran_s'] / seconds:.1%} of the time, waited for a processor "
        f"{plain['loop_waited_s'] / seconds:.1%}; all timers were late by {plain['lag_sum_s']:.1f} s together",
        "log per round": f"{_number(plain['log_bytes_per_round'])} bytes, "
        f"{_number(plain['log_lines_per_round'])} lines",
        "store per round": f"{_number(plain['store_bytes_per_round'])} bytes; {start.store_bytes} at first, "
        f"{first.store_bytes} after the warm-up, {last.store_bytes} at the end; write-ahead log {last.wal_bytes}",
        "weights": f"{sum(log.weights.values())} in {plain['epochs']:.1f} epochs: "
        + (", ".join(f"{many} {reason}" for reason, many in sorted(log.weights.items())) or "none"),
    }
    for name, many in plain["loud"].items():
        rows[name] = str(many)
    return rows


def _slope(one: Slope | None, form: str = "+.2f", unit: str = "MiB") -> str:
    if one is None:
        return "too few samples for a slope"
    return f"{one.value:{form}} {unit} an hour (95 %: {one.low:{form}} to {one.high:{form}})"


def _blocks(one: Slope | None) -> str:
    return _slope(one, "+,.0f", "blocks")


def _s(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{1000 * value:.1f} ms"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
