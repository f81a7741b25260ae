"""Run of a soak: starts network and validator, samples them, and reports at the end."""

import asyncio
import json
import socket
import time
from asyncio.subprocess import Process
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path

import aiohttp
from process_watch import metrics_of
from rich.console import Console

from localnet.chain.subnet import Blocks, load_state
from soak.logs import LogTail
from soak.processes import daemon, network, stopped, verified
from soak.sample import Sample, look
from soak.site import INTERVAL_S, KEPT_S, PRUNE_EVERY_S, Site, rules
from soak.soak_report import Report, report
from sssa.sources import SystemClock
from validator.store import open_store
from validator.store.errors import StoreError
from validator.store.pruning import prune

EVERY_S = 10.0
SILENT_S = 6 * INTERVAL_S  # without a settled round for so long, rounds have stopped
_START_S = 120.0


@dataclass(slots=True)
class Watch:
    """Samples of a running soak, and broken bounds.

    Args:
        site: where.
        seconds: for how long.
        console: for a line about each look.
        every_s: pause between two looks.
    """

    site: Site
    seconds: float
    console: Console
    every_s: float = EVERY_S
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    pruned: int = 0
    _settled: tuple[int, float] = (0, 0.0)

    async def run(self) -> Report:
        """Soak; return the result of it."""
        log = LogTail(self.site.log)
        self.console.print("starting miners and services …", style="dim")
        async with network(self.site) as around, daemon(self.site) as process:
            await self._ready(process)
            began, block = time.monotonic(), self._epochs()
            pruning = asyncio.create_task(self._prune())
            with self.console.status("") as status:
                while not self.faults and (at := time.monotonic() - began) < self.seconds:
                    if around.returncode is not None:
                        self.faults.append(f"the network around the validator died: exit {around.returncode}")
                    await self._look(process, at, log)
                    self._say(status.update)
                    await asyncio.sleep(min(self.every_s, max(0.0, self.seconds - (time.monotonic() - began))))
            epochs = self._epochs() - block
            pruning.cancel()
            await asyncio.gather(pruning, return_exceptions=True)
            died = process.returncode is not None
            if (code := await stopped(process)) and not died:
                self.faults.append(f"the daemon ended with exit {code} when it was asked to stop")
        log.read()
        if not log.settled:
            self.faults.append("no round was settled")
        elif wrong := await verified(self.site):
            self.faults.append(f"the log of receipts does not verify: {wrong}")
        return report(self.samples, log, epochs, self.faults)

    def write(self, path: Path, what: Report) -> None:
        """Write figures and samples as JSON."""
        samples = [asdict(sample) for sample in self.samples]
        for sample in samples:
            sample["lag"] = {str(bound): many for bound, many in (sample["lag"] or {}).items()}
        document = {**what.plain, "broken": list(what.broken), "pruned_answers": self.pruned, "samples": samples}
        path.write_text(json.dumps(document, indent=1) + "\n")

    async def _ready(self, process: Process) -> None:
        """Wait until the daemon tells of itself.

        Raises:
            RuntimeError: it ended, or says nothing.
        """
        until = time.monotonic() + _START_S
        while await self._metrics() is None:
            if process.returncode is not None or time.monotonic() > until:
                raise RuntimeError(f"the daemon did not start: {self.site.log} says why")
            await asyncio.sleep(0.1)

    async def _metrics(self) -> str | None:
        try:
            async with asyncio.timeout(self.every_s):
                return await metrics_of(self.site.port)
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None

    async def _look(self, process: Process, at: float, log: LogTail) -> None:
        metrics = await self._metrics()
        try:
            sample = await asyncio.to_thread(look, process.pid, at, self.site, log, metrics)
        except (OSError, KeyError):  # a process that ended has no memory to tell of
            self.faults.append(f"the daemon died: exit {await process.wait()}; {self.site.log} says why")
            return
        self.samples.append(sample)
        if sample.settled > self._settled[0]:
            self._settled = sample.settled, at
        elif at - self._settled[1] > SILENT_S:
            self.faults.append(f"no round was settled for {at - self._settled[1]:.0f} s")

    async def _prune(self) -> None:
        """Do what the daemon's retention does each hour, so many times as often, for what is past its time here."""
        clock = SystemClock()
        while True:
            await asyncio.sleep(PRUNE_EVERY_S)
            before = clock.now() - timedelta(seconds=KEPT_S)
            try:
                async with open_store(self.site.url) as store:
                    self.pruned += (await prune(store, answers_before=before, bundles_before=before)).answers
            except StoreError as error:
                self.faults.append(f"retention failed: {error}")

    def _epochs(self) -> float:
        """Return how many epochs the chain has had, and the share of the one in hand."""
        its = rules(load_state(self.site.chain).rules.genesis)
        blocks = Blocks(SystemClock(), its)
        return blocks.number() / (its.tempo + 1)

    def _say(self, update: object) -> None:
        if not self.samples:
            return
        one = self.samples[-1]
        text = (
            f"{one.at_s:6.0f} of {self.seconds:.0f} s: {one.settled} rounds, daemon {one.rss_kb / 1024:.1f} MiB, "
            f"{one.workers} processes {one.workers_kb / 1024:.0f} MiB, {one.descriptors} descriptors, store "
            f"{one.store_bytes / 1024 / 1024:.1f} MiB, log {one.log_bytes / 1024:.0f} kB"
        )
        if self.console.is_terminal and callable(update):
            update(text)
        elif len(self.samples) % 6 == 1:
            self.console.print(text, highlight=False, soft_wrap=True)


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
