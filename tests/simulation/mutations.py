"""Careless changes, each in a temporary copy of the code, and the first seed to find it."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from simulation.faults import CUTS, KILLS, STOPS

_ROOT: Final = Path(__file__).parents[2]
_COPIED: Final = (
    "validator",
    "sssa",
    "publisher",
    "taskmaker",
    "localnet",
    "migrations",
    "tests/simulation",
    "tests/core",
    "runner",
    "miner",
    "pyproject.toml",
)


class Mutation(NamedTuple):
    """A careless change: in `file`, `old` becomes `new`.

    Attributes:
        name: what is careless about it.
        file, old, new: the change.
        needs: kinds of faults; in histories without any of them it changes nothing, and they are not played.
    """

    name: str
    file: str
    old: str
    new: str
    needs: Sequence[str] = ()


SETTLE: Final = "validator/rounds/settle.py"
SUBMISSION: Final = "validator/weights/submission.py"
GUARD: Final = "validator/weights/guard.py"
SERVICE: Final = "validator/rounds/service.py"
DISPATCH: Final = "validator/rounds/dispatch.py"
ATTRIBUTION: Final = "validator/rounds/attribution.py"
RESUME: Final = "validator/rounds/resume.py"
CANCELLATION: Final = "validator/cancellation.py"

MUTATIONS: Final = (
    Mutation(
        "a round is settled in two transactions",
        SETTLE,
        '        await write_receipt(tx, signer, now, round_end(frozen, "settled", Reason.SETTLED, lines))\n\n'
        "    await store.lasting(write)\n",
        "\n    await store.lasting(write)\n    await store.lasting(\n"
        "        lambda tx: write_receipt("
        'tx, signer, now, round_end(frozen, "settled", Reason.SETTLED, lines))\n'
        "    )\n",
    ),
    Mutation(
        "the state is not stepped when a round is settled",
        SETTLE,
        "        await tx.state.step(scored.ended, scored_by.step, now)\n",
        "",
    ),
    Mutation(
        "settling is not retried while the database is busy",
        SETTLE,
        "    await store.lasting(write)\n    return outcome\n",
        "    async with store.begin() as tx:\n        await write(tx)\n    return outcome\n",
        ("busy", "disk_full"),
    ),
    Mutation(
        "weights are handed over before they are written down",
        SUBMISSION,
        "                await tx.weights.submit(",
        "                await self._send(plan.sent, valid_blocks, head)\n                await tx.weights.submit(",
    ),
    Mutation(
        "a submission whose answer is lost is noted as refused, and sent again",
        SUBMISSION,
        '            return Fate("unknown", Reason.WEIGHTS_UNKNOWN, printable(str(error), _MAX_MESSAGE))',
        '            return Fate("rejected", Reason.WEIGHTS_REJECTED, printable(str(error), _MAX_MESSAGE))',
        ("lost_answer", "delayed", "sent_then_broken"),
    ),
    Mutation(
        "a submission that is cut off by a stop counts as never sent",
        SUBMISSION,
        'fate = Fate("unknown", Reason.WEIGHTS_UNKNOWN, _STOPPED)',
        'fate = Fate("prepared", Reason.WEIGHTS_CHAIN_DOWN, _STOPPED)',
        ("cancel_at_handover", "cancel", "stop_twice"),
    ),
    Mutation(
        "the note after a submission is not awaited when the task is cancelled",
        SUBMISSION,
        "await complete(self._note(prepared, view, vector, fate, started))",
        'await __import__("asyncio").shield(self._note(prepared, view, vector, fate, started))',
        CUTS,
    ),
    Mutation(
        "the last write of a round is shielded and not awaited",
        SERVICE,
        "await complete(self._finish(",
        "await asyncio.shield(self._finish(",
        STOPS,
    ),
    Mutation(
        "the guard forgets a submission that may still arrive",
        GUARD,
        "if record is None or origin is UpdateOrigin.OURS or block > (last := record.expiry_block or 0):",
        "if record is None or origin is UpdateOrigin.OURS or block >= (last := record.signed_block or 0):",
        ("pool_lost", "delayed", "after_handover", "cancel_at_handover"),
    ),
    Mutation(
        "the guard allows weights on a chain that is behind",
        GUARD,
        "if known.highest_confirmed is not None and block < known.highest_confirmed:",
        "if known.highest_confirmed is not None and block < 0:",
        ("chain_behind",),
    ),
    Mutation(
        "our own stall is charged to the miner",
        "validator/outgoing/exchange.py",
        "if seconds - overlap(self.call.stalls(started), started, started + seconds) > self.call.deadline_s:",
        "if seconds > self.call.deadline_s:",
        ("stall",),
    ),
    Mutation(
        "our own fault is charged to the miner",
        DISPATCH,
        "elif reply.reason == Reason.LOCAL_RESOURCES:",
        "elif reply.reason == Reason.SETTLED:",
        ("no_resources",),
    ),
    Mutation(
        "a stop loses the work that is running",
        "validator/waiting/embedded.py",
        "                await complete(self._hand_back())\n",
        "                pass\n",
        STOPS,
    ),
    Mutation(
        "what a cancelled caller started is left running",
        CANCELLATION,
        "        await ended((working, stopping))\n",
        "        stopping.cancel()\n",
    ),
    Mutation(
        "what a kill cut off counts as a fault of the program",
        RESUME,
        'if record.state in ("planned", "sent")}',
        'if record.state == "planned"}',
        KILLS,
    ),
    Mutation(
        "a vector is computed, and the state does not learn of it",
        "validator/weights/service.py",
        "await tx.state.pay((self._netuid, self._mechid), snapshot.epoch, basis.round_id)",
        "pass",
    ),
    Mutation(
        "the mark of the validator's weights is not kept",
        SUBMISSION,
        "                await tx.weight_guard.set_mark(*self._key, self.hotkey, mark, now)",
        "                mark._asdict()",
    ),
    Mutation(
        "an epoch whose weights were confirmed is served again",
        SUBMISSION,
        'return record is not None and (record.state == "confirmed" or refused_for_good(record))',
        "return record is not None and refused_for_good(record)",
        (*KILLS, *STOPS),
    ),
    Mutation(
        "what a time limit cuts off is left running",
        "validator/cancellation.py",
        "        await ended((work, timer))\n",
        "        work.cancel()\n        timer.cancel()\n",
    ),
    Mutation(
        "retention removes answers of the open round",
        "validator/store/repositories/operations.py",
        'rounds.c.state != "open", ',
        "",
        ("retention",),
    ),
    Mutation(
        "a drain does not wait for the round in hand",
        "validator/daemon/daemon.py",
        "                await asyncio.wait({rounds, requested}, return_when=asyncio.FIRST_COMPLETED)\n",
        "",
        ("drain",),
    ),
    Mutation(
        "the claim to write is not held",
        "validator/store/locks.py",
        "    handles.claim(lock)\n    return lock\n",
        "    lock.drop()\n    return lock\n",
        ("intruder",),
    ),
    Mutation("a window has 99 entries", "sssa/state/mechanism_state.py", "ENTRIES: Final = 100", "ENTRIES: Final = 99"),
)


def main() -> None:
    """Try each mutation on seeds in turn."""
    parser = argparse.ArgumentParser(prog="python -m simulation.mutations")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of mutations, from 0")
    arguments = parser.parse_args()
    missed = 0
    print(f"{len(MUTATIONS)} mutations, up to {arguments.seeds} seeds each", flush=True)
    for number, mutation in enumerate(MUTATIONS):
        if arguments.only and number not in arguments.only:
            continue
        seed = first_seed(mutation, arguments.seeds, arguments.jobs)
        missed += seed is None
        print(f"{number:2} {mutation.name}: {seed or f'not found in {arguments.seeds} seeds'}", flush=True)
    sys.exit(int(missed > 0))


def first_seed(mutation: Mutation, seeds: int, jobs: int) -> str | None:
    """Return the first seed that fails with the mutation, and how; None if none does."""
    with tempfile.TemporaryDirectory(prefix="sssa-mutation-") as place:
        folder = Path(place)
        for name in _COPIED:
            source = _ROOT / name
            ignore = shutil.ignore_patterns("__pycache__", "bundles", "template")
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=ignore)
            else:
                shutil.copy(source, folder / name)
        file = folder / mutation.file
        text = file.read_text()
        if text.count(mutation.old) != 1:
            raise SystemExit(f"{mutation.name}: {mutation.file} does not hold the text once")
        file.write_text(text.replace(mutation.old, mutation.new))
        paths = ":".join(str(folder / one) for one in ("", "tests/core", "runner"))
        command = [sys.executable, "-m", "simulation", "run", "--quick", "--stop-at-first"]
        command += ["--kinds", *mutation.needs] if mutation.needs else []
        command += ["--seeds", str(seeds), "--jobs", str(jobs), "--results", str(folder / "results.jsonl")]
        subprocess.run(  # the exit code tells what the output says
            command, cwd=folder, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, check=False
        )
        results = folder / "results.jsonl"
        if not results.exists():
            return "the history without faults"
        for line in results.read_text().splitlines():
            if (match := re.search(r'"seed": (\d+).*"error": "([^"]{1,160})', line)) is not None:
                return f"seed {match[1]}: {match[2].splitlines()[0]}"
    return None


if __name__ == "__main__":
    main()
