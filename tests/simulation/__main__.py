"""`make simulate-faults`: play seeds, some again in new processes; print, append to `--results`. `replay` plays one."""

import argparse
import json
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simulation import runner
from simulation.faults import BRIEF, KINDS, draw
from simulation.history import Played

_ENOUGH = 200  # seeds in which every fault must have acted
_EVERY = 10  # seeds, of which one is played again in other processes; of brief ones every fifth of these
_HASH_SEEDS = (0, 1, 2)


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m simulation")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="play many seeds")
    run.add_argument("--seeds", type=int, default=200)
    run.add_argument("--first", type=int, default=1)
    run.add_argument("--jobs", type=int, default=1)
    run.add_argument("--results", type=Path, help="a file of ended seeds: a run continues from it")
    run.add_argument("--stop-at-first", action="store_true", help="end at the first seed that fails")
    run.add_argument("--kinds", nargs="+", default=KINDS, help="play only seeds that draw one of these faults")
    run.add_argument("--quick", action="store_true", help="neither shrink nor look for determinism")
    replay = commands.add_parser("replay", help="play one seed")
    replay.add_argument("seed", type=int)
    replay.add_argument("--faults", help="numbers of the faults that are kept, with commas; all without it")
    commands.add_parser("digests").add_argument("seeds", type=int, nargs="+")
    arguments = parser.parse_args()
    runner.warm_up()
    match arguments.command:
        case "run":
            sys.exit(_run(arguments))
        case "replay":
            sys.exit(_replay(arguments.seed, arguments.faults))
        case "digests":
            print(json.dumps({one.seed: one.digest for one in runner.play_all(arguments.seeds, 1)}))


def _run(arguments: argparse.Namespace) -> int:
    ended: dict[int, dict[str, object]] = {}
    if arguments.results is not None and arguments.results.exists():
        ended = {line["seed"]: line for line in map(json.loads, arguments.results.read_text().splitlines())}
    wanted: Sequence[int] = range(arguments.first, arguments.first + arguments.seeds)
    if arguments.kinds != KINDS:
        wanted = [seed for seed in wanted if any(fault.kind in arguments.kinds for fault in draw(seed))]
    for played in runner.play_all((seed for seed in wanted if seed not in ended), arguments.jobs):
        line = {"seed": played.seed, "rounds": played.rounds, "counts": played.counts, "digest": played.digest}
        ended[played.seed] = line | {"error": played.error}
        if arguments.results is not None:
            with arguments.results.open("a") as file:
                file.write(json.dumps(ended[played.seed]) + "\n")
        if played.error is not None:
            if not arguments.quick:
                _tell(played)
            if arguments.stop_at_first:
                break
    lines = [ended[seed] for seed in wanted if seed in ended]
    digests = {int(str(line["seed"])): str(line["digest"]) for line in lines if line["error"] is None}
    return _summary(lines, [] if arguments.quick else _different(digests))


def _different(digests: dict[int, str]) -> list[int]:
    """Return the seeds, of every tenth, whose history is another one in another process."""
    some = [seed for seed in digests if seed % _EVERY == 0 and (seed <= BRIEF or seed % 50 == 20)]
    if not some:
        return []
    again = runner.digests(some, _HASH_SEEDS)
    return [seed for seed in some if {one[seed] for one in again} != {digests[seed]}]


def _summary(lines: Sequence[dict[str, object]], different: Sequence[int]) -> int:
    rounds, counts = Counter[str](), Counter[str]()
    for line in lines:
        rounds.update(line["rounds"])  # type: ignore[call-overload]
        counts.update(line["counts"])  # type: ignore[call-overload]
    broken = [line["seed"] for line in lines if line["error"] is not None]
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{len(lines)} seeds, {rounds.total()} rounds ({dict(sorted(rounds.items()))}),"
        f" {cpu.ru_utime + cpu.ru_stime:.0f} s of CPU"
    )
    for kind in KINDS:
        print(f"  {kind:20} {counts[kind]}")
    never = [kind for kind in KINDS if not counts[kind]] if len(lines) >= _ENOUGH else []
    if never:
        print(f"faults that never acted: {', '.join(never)}")
    if different:
        print(f"seeds that are not the same in another process: {different}")
    print(f"seeds that fail: {broken or 'none'}")
    return int(bool(broken or different or never))


def _tell(played: Played) -> None:
    """Print what broke, the last steps and the command that plays a shorter list of faults again."""
    kept = runner.shrink(played.seed, played.faults)
    print(f"seed {played.seed} fails: {played.error}")
    print("\n".join(f"  {step}" for step in played.last))
    for number in kept:
        print(f"  fault {number}: {played.faults[number]}")
    print(f"play it again: python -m simulation replay SEED={played.seed} FAULTS={','.join(map(str, kept))}")


def _replay(seed: int, kept: str | None) -> int:
    faults = draw(seed)
    chosen = faults if kept is None else [faults[int(number)] for number in kept.split(",") if number]
    played = runner.play(seed, chosen)
    for fault in chosen:
        print(f"  {fault}")
    print("\n".join(f"  {step}" for step in played.last))
    print(f"{played.steps} steps, {dict(played.rounds)}, {dict(played.counts)}, digest {played.digest}")
    print(played.error or "every invariant holds")
    return int(played.error is not None)


if __name__ == "__main__":
    main()
