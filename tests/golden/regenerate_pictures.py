"""Makes docs/pictures again: `validator status` and `validator explain` as they answer next to a real run.

Run it after a change of the pages; it takes a minute. The local network runs in its own folder; while
a round is in hand, the commands are called as an operator calls them.
"""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT), str(ROOT / "tests" / "core")]

from pictures import FOLDER, PARTS, picture  # noqa: E402 - it lies beside the tests

from localnet.network import Options, run_network  # noqa: E402
from validator.daemon.signals import Stop  # noqa: E402
from validator.rounds.facts import EndedRound  # noqa: E402
from validator.rounds.prepare import Prepared  # noqa: E402
from validator.settings.load import load_settings  # noqa: E402
from validator.telemetry import configure_logging  # noqa: E402

_AT: Final = 14  # rounds: the first weights are on chain, and the cohort has been noticed or not
_WIDTH: Final = 104
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")


class _Operator:
    """Looks when the round comes, and ends the run when it has seen enough."""

    def __init__(self, config: Path, stop: Stop, pool: ThreadPoolExecutor) -> None:
        self._config, self._stop, self._pool = config, stop, pool
        self.pages: Future[dict[str, list[str]]] | None = None

    def stage(self, text: str) -> None:
        print(text)  # noqa: T201 - a script

    def doing(self, text: str) -> None:
        pass

    def started(self, prepared: Prepared) -> None:
        if int(prepared.frozen.round_id) == _AT:
            loop = asyncio.get_running_loop()
            self.pages = self._pool.submit(self._look)
            self.pages.add_done_callback(lambda _: loop.call_soon_threadsafe(self._stop.requested.set))

    def ended(self, end: EndedRound, validator: int) -> None:
        print(f"round {end.round_id}")  # noqa: T201 - a script

    def _look(self) -> dict[str, list[str]]:
        status = self._called("status")
        for uid in range(2, 30):
            if shown := _one_task(self._called("explain", str(uid), "--round", str(_AT - 1))):
                return {"status": status, "explain": shown}
        raise LookupError("no miner's page tells all: run it again")

    def _called(self, *command: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", "from validator.cli import main; main()", *command, "--config", self._config.name],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._config.parent,
            env=os.environ | {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(_WIDTH)},
        )
        return done.stdout.splitlines()


def _one_task(page: list[str]) -> list[str]:
    """The head of a page and its first task that tells all; empty if there is none."""
    plain = [_STYLE.sub("", line) for line in page]
    titles = [number for number, line in enumerate(plain) if line.endswith("────")]
    for begin, end in zip(titles, [*titles[1:], len(page)], strict=True):
        task = "\n".join(plain[begin:end])
        if all(f"\n{part}" in task for part in PARTS):
            return [*page[: titles[0]], *(["…", ""] if begin > titles[0] else []), *page[begin:end]]
    return []


def main() -> None:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), ThreadPoolExecutor(1) as pool:
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        config = Path(name) / "validator.toml"
        config.write_text((ROOT / "config" / "demo.toml").read_text().replace("port = 9340", f"port = {port}"))
        settings = load_settings(config, {})
        configure_logging(settings.log.level, settings.log.format)
        stop = Stop()
        operator = _Operator(config, stop, pool)
        asyncio.run(run_network(settings, Options(rounds=_AT + 100, chain=settings.chain.state), operator, stop))
        assert operator.pages is not None
        pages = operator.pages.result()
    FOLDER.mkdir(exist_ok=True)
    for command, page in pages.items():
        (FOLDER / f"{command}.svg").write_text(picture(page, f"validator {command}"), encoding="utf-8")


if __name__ == "__main__":
    main()
