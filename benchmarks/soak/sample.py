"""One look at the daemon from outside: its memory, descriptors and threads, its loop's lag, its store and log."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from process_watch import family, lag_of, proportional_kb

from soak.logs import LogTail
from soak.process_memory import newest_look
from soak.site import Site

_NS: Final = 1e9


@dataclass(frozen=True, slots=True)
class Sample:
    """Measurements at one moment.

    Attributes:
        at_s: since the watch began.
        rss_kb, pss_kb: the daemon's process alone.
        blocks, used_kb, kept_kb: see `Inside`.
        workers_kb: Pss of all processes that it started.
        workers: how many those are.
        descriptors, threads: open in the daemon's process.
        ran_s, waited_s: how long its first thread, the event loop's, ran and waited for a processor, ever.
        store_bytes, wal_bytes: the database, and its write-ahead log.
        log_bytes, log_lines, settled: of the log so far.
        lag: timers of the event loop that were at most so late (s), ever; None while nothing answers.
        lag_s: sum of their lateness.
    """

    at_s: float
    rss_kb: int
    pss_kb: int
    blocks: int
    used_kb: int
    kept_kb: int
    workers_kb: int
    workers: int
    descriptors: int
    threads: int
    ran_s: float
    waited_s: float
    store_bytes: int
    wal_bytes: int
    log_bytes: int
    log_lines: int
    settled: int
    lag: dict[float, int] | None
    lag_s: float


def look(pid: int, at_s: float, site: Site, log: LogTail, metrics: str | None) -> Sample:
    """Return a sample of the daemon whose process is `pid`.

    Raises:
        OSError: the process is gone.
    """
    log.read()
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    children, inside = family(pid)[1:], newest_look(site.inside)
    return Sample(
        at_s=round(at_s, 3),
        rss_kb=int(status["VmRSS"].split()[0]),
        pss_kb=proportional_kb(pid),
        blocks=inside.blocks,
        used_kb=inside.used_kb,
        kept_kb=inside.kept_kb,
        workers_kb=sum(map(proportional_kb, children)),
        workers=len(children),
        descriptors=sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
        threads=int(status["Threads"]),
        ran_s=int(ran) / _NS,
        waited_s=int(waited) / _NS,
        store_bytes=_size(site.store),
        wal_bytes=_size(site.store.with_name(f"{site.store.name}-wal")),
        log_bytes=log.size,
        log_lines=log.lines,
        settled=log.settled,
        lag=None if metrics is None else lag_of(metrics).within,
        lag_s=0.0 if metrics is None else _sum(metrics),
    )


def _sum(metrics: str) -> float:
    sums = [line for line in metrics.splitlines() if line.startswith("validator_loop_lag_seconds_sum")]
    return float(sums[0].split()[-1]) if sums else 0.0


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
