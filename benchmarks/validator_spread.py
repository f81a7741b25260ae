"""Luck of the draw in a miner's weight: two validators in one run, and the same network run again.

Run it. Every run is its own local network seed: other keys, other draws, the same behaviours. A
spread is the part of the weights that two vectors place differently, the mean over all pairs; miners of two runs are
matched by name.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Final

from rich.progress import track

from localnet.vector_comparison import spread_of

RUNS: Final = int(os.environ.get("RUNS", "4"))
ROUNDS: Final = int(os.environ.get("ROUNDS", "18"))
_CONFIG: Final = Path(__file__).parents[1] / "config" / "demo.toml"
_PROGRAM: Final = (sys.executable, "-c", "from validator.cli import main; main()")


def main() -> None:
    """Run the networks and print the spreads."""
    results = [run(f"spread-{number}") for number in track(range(1, RUNS + 1), "runs", transient=True)]
    within = [spread_of(rows_of(result)) or 0.0 for result in results]
    alone = spread_of([rows_of(result)[0] for result in results])
    together = spread_of([aggregate_of(result) for result in results])
    print(f"{RUNS} runs of {ROUNDS} rounds, {len(rows_of(results[0]))} validators of equal stake")
    print(f"two validators of one run:           {mean(within):6.1%}  ({min(within):.1%} to {max(within):.1%})")
    if alone is None or together is None:
        return
    print(f"one validator's row, between runs:   {alone:6.1%}")
    print(f"paid by both together, between runs: {together:6.1%}  ({together / alone:.2f} of one validator's)")


def run(seed: str) -> Mapping[str, Any]:
    """Run a local network and return what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"VALIDATOR_STORE__URL": f"sqlite:///{folder}/run.sqlite"}
        options = ("--config", str(_CONFIG), "--json", "--no-executions", "--rounds", str(ROUNDS), "--seed", seed)
        done = subprocess.run(
            [*_PROGRAM, "devnet", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    result: Mapping[str, Any] = json.loads(done.stdout)
    return result


def rows_of(result: Mapping[str, Any]) -> Sequence[Mapping[str, float]]:
    """Return each validator's shares by the miners' names."""
    return [_named(result, row["shares"]) for row in result["payout"]["rows"]]


def aggregate_of(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Return what all validators together pay, by the miners' names."""
    return _named(result, result["payout"]["aggregate"])


def _named(result: Mapping[str, Any], shares: Mapping[str, float]) -> Mapping[str, float]:
    names = {miner["hotkey"]: miner["name"] for miner in result["miners"]}
    return {names.get(hotkey, "unallocated"): share for hotkey, share in shares.items()}


if __name__ == "__main__":
    main()
