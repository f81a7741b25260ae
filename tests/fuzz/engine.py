"""One target fuzzed for some processor time in this process, by atheris or, where that is missing, by hypothesis."""

import importlib.util
import json
import os
import sys
from pathlib import Path
from time import process_time
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

GUIDED: Final = importlib.util.find_spec("atheris") is not None
if GUIDED:
    import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with atheris.instrument_imports(include=["validator"]):
        from fuzz.findings import keep, known, take
        from fuzz.targets import TARGETS
else:
    from fuzz.findings import keep, known, take
    from fuzz.targets import TARGETS

_STUCK_S: Final = 900  # of real time: then an input has no end, and is a finding; a busy machine stands still long
_MEMORY_MIB: Final = 2_048
_EXAMPLES: Final = 500  # between two looks at the clock


class Run:
    """Inputs of one target, counted; the first finding of each kind of exception is kept."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.until = process_time() + seconds
        self.inputs = 0
        self.findings: dict[str, str] = {}

    def one(self, data: bytes) -> None:
        """Read one input."""
        self.inputs += 1
        try:
            take(TARGETS[self.name], data[: TARGETS[self.name].most])
        except Exception as error:  # noqa: BLE001 - a finding, of whatever kind
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            kind = f"{type(error).__name__} at line {place.tb_lineno if place else 0}: {error}"[:200]
            if type(error).__name__ not in {one.partition(" ")[0] for one in self.findings}:
                self.findings[kind] = str(keep(self.name, data))

    def report(self) -> str:
        """Return the report of the run, one line of JSON."""
        return json.dumps({"target": self.name, "inputs": self.inputs, "found": self.findings, "guided": GUIDED})


def guided(run: Run, folder: Path) -> None:
    """Fuzz by coverage, write the report and end the process: libFuzzer does not return.

    Inputs that reach new code are added to `folder`, and the next run starts from them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(known(run.name)):
        (folder / str(number)).write_bytes(data)

    def one(data: bytes) -> None:
        run.one(data)
        if process_time() >= run.until:
            sys.stdout.write(run.report() + "\n")
            sys.stdout.flush()
            os._exit(0)  # whatever else it is ended by, libFuzzer takes for a crash

    options = [f"-max_len={TARGETS[run.name].most}", f"-timeout={_STUCK_S}", f"-rss_limit_mb={_MEMORY_MIB}"]
    atheris.Setup(["fuzz", *options, f"-artifact_prefix={folder.parent}/stuck-", str(folder)], one)
    atheris.Fuzz()


def unguided(run: Run) -> None:
    """Fuzz by changes of what is known: bytes taken out, put in, repeated and exchanged."""
    seeds = known(run.name)
    piece = st.one_of(st.binary(max_size=16), st.sampled_from([b"[" * 99, b'"', b"\\u0000", b"1e999", b"\xff", b"{}"]))
    change = st.tuples(st.floats(0, 1), st.integers(0, 64), piece, st.integers(1, 64))
    turn = 0
    while process_time() < run.until:
        turn += 1

        @seed(turn)
        @settings(
            max_examples=_EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(seeds), st.lists(change, min_size=1, max_size=8))
        def some(data: bytes, changes: list[tuple[float, int, bytes, int]]) -> None:
            for place, gone, new, times in changes:
                at = int(place * len(data))
                data = data[:at] + new * times + data[at + gone :]
            if process_time() < run.until:
                run.one(data)

        some()
    sys.stdout.write(run.report() + "\n")


def main(arguments: list[str]) -> Any:
    """Fuzz the target of the first argument for the processor seconds of the second, with the inputs of a third."""
    run = Run(arguments[0], float(arguments[1]))
    if not GUIDED:
        return unguided(run)
    return guided(run, Path(arguments[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
