"""A network of local miners over the seeded tasks, by the commands that an owner has."""

from pathlib import Path
from typing import Any, Final, NamedTuple

from real_skills.bases import json_of

PACE: Final = 10.0
_SETTINGS: Final = """\
[validator]
netuid = 1

[wallet]
uri = "//Validator"

[chain]
kind = "simulated"
state = "chain.json"

[store]
url = "sqlite:///network.sqlite"

[rounds]
interval_s = 0.0
grace_s = 15.0
capabilities_refresh_s = 1.0
max_open = 80

[miners]
allow_private_axons = true

[weights]
blocks_before_epoch_end = 10

[log]
level = "error"

[health]
port = 0
"""

# None that waits until most of a window has passed: rounds would take as long.
_MINERS: Final = "".join(
    f'[[miners]]\nbehaviour = "{behaviour}"\ncount = {count}\n\n'
    for behaviour, count in (("thorough", 4), ("partial", 3), ("sloppy", 2), ("lazy", 1))
)


class Finder(NamedTuple):
    """Result of one miner of the network: findings in answers that passed the gates, and its weight."""

    name: str
    behaviour: str
    answers: int
    hits: int
    planted: int
    weight: float


class Network(NamedTuple):
    """Result of a run: its rounds, tasks with known faults, tasks that separate miners, and its miners."""

    rounds: int
    settled: int
    tasks: int
    given: int
    separating: int
    finders: tuple[Finder, ...]


def network(work: Path, tasks: Path, rounds: int, pace: float) -> Network:
    """Run a network over the tasks, and ask its store what each miner found. About 12 s a round at a pace of 10.

    Args:
        work: a folder, which takes settings and store.
        tasks: the folder of the tasks' folders.
        rounds: how many.
        pace: how many times faster than on chain.

    Raises:
        RefusedError: a command failed.
    """
    settings = work / "network.toml"
    settings.write_text(_SETTINGS)
    (work / "miners.toml").write_text(_MINERS)
    who = ["--config", settings.name, "--miners", "miners.toml", "--no-executions"]
    result = json_of(
        ["devnet", *who, "--tasks", str(tasks.resolve()), "--rounds", str(rounds), "--pace", f"{pace:g}"], work
    )
    faults = json_of(["neurons", "faults", "--config", settings.name, "--rounds", str(rounds)], work)
    return read_network(result, faults)


def read_network(result: dict[str, Any], faults: dict[str, Any]) -> Network:
    """Return what the two commands printed, miners by what they found.

    Args:
        result: of `validator devnet --tasks`.
        faults: of `validator neurons faults`.
    """
    by_hotkey = {one["hotkey"]: one for one in faults["miners"]}
    finders = [
        Finder(
            one["name"],
            one["behaviour"],
            by_hotkey[one["hotkey"]]["answers"],
            by_hotkey[one["hotkey"]]["total"]["matched"],
            by_hotkey[one["hotkey"]]["total"]["known"],
            one["weight"],
        )
        for one in result["miners"]
        if one["hotkey"] in by_hotkey
    ]
    own = result["own"]["tasks"]
    return Network(
        result["rounds"],
        result["settled"],
        faults["tasks"],
        sum(one["given"] > 0 for one in own),
        sum(one["separates"] for one in own),
        tuple(sorted(finders, key=lambda one: (-one.hits / max(1, one.planted), one.name))),
    )
