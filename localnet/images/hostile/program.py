"""What the hostile images run: each conduct is a function, and the image's SSSA_CONDUCT names one.

Lies about the run: `copied`, `no_probes`, `other_writes`. Attacks on the machine: the others; those leave traces only
of what they reach, so that an attack that fails leaves nothing to compare.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from localnet.images.tracer.program import leave, traced
from localnet.tracing.records import Records, empty_records
from validator.protocol.skill_types import SkillType

EVIDENCE: Final = Path(os.environ.get("SSSA_EVIDENCE", "/sssa/evidence"))
CHUNK: Final = b"x" * 65_536
LOG_BYTES: Final = 200_000_000
ADDRESSES: Final = (("1.1.1.1", 80), ("8.8.8.8", 53), ("10.0.0.1", 443), ("172.17.0.1", 22), ("169.254.169.254", 80))
NAMES: Final = ("example.com", "host.docker.internal", "gateway.docker.internal")
OF_THE_HOST: Final = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/proc/kcore",
    "/dev/sda",
    "/dev/vda",
    "/etc/shadow",
)


def copied() -> None:
    """Run nothing: write down the probes that the variables name, as if they had been performed."""
    records, env = _empty(), os.environ
    records["fs"].append({"op": "write", "path": env["SSSA_PROBE_FILE_PATH"], "ts": 0.0})
    records["network"].append({"domain": env["SSSA_PROBE_DNS_HOST"], "dst_port": 53, "proto": "dns", "ts": 0.1})
    records["process"].append({"cmd": f"echo {env['SSSA_PROBE_PROCESS_ECHO']}", "ts": 0.2})
    leave(records, EVIDENCE)


def no_probes() -> None:
    """Run the bundle, and leave the probes out."""
    env = os.environ
    probes = {env[f"SSSA_PROBE_{name}"] for name in ("FILE_PATH", "DNS_HOST")} | {
        f"echo {env['SSSA_PROBE_PROCESS_ECHO']}"
    }
    leave(_without(traced(env), probes), EVIDENCE)


def other_writes() -> None:
    """Run the bundle, and write a file of its own beside it."""
    records = traced(os.environ)
    place = Path(os.environ["TMPDIR"], "other.txt")
    place.write_text("other", encoding="utf-8")
    records["fs"].append({"op": "write", "path": str(place), "ts": 9.0})
    leave(records, EVIDENCE)


def sleeps() -> None:
    """Do nothing for ever."""
    while True:
        time.sleep(3_600)


def fork_bomb() -> None:
    """Start processes that start processes, until it is stopped."""
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def fills_disk() -> None:
    """Write wherever it can until nothing more fits."""
    places = [Path(place) for place in ("/", "/var", "/usr", "/sssa", "/sssa/bundle", "/dev/shm", "/tmp")]  # noqa: S108 - the image's
    for place in (*places, EVIDENCE):
        _fill(place)


def talks() -> None:
    """Write 200 MB to both outputs, then do what an honest image does."""
    for fd in (1, 2):
        for _ in range(LOG_BYTES // 2 // len(CHUNK)):
            os.write(fd, CHUNK)
    leave(traced(os.environ), EVIDENCE)


def calls_out() -> None:
    """Try to reach anybody; leave traces of whom it reached."""
    reached = [_record(target) for target in (*ADDRESSES, *((name, 80) for name in NAMES)) if _reaches(target)]
    if reached:
        leave(_empty() | {"network": reached}, EVIDENCE)


def looks_out() -> None:
    """Try to see the machine that it runs on, and its other programs; leave traces of what it saw."""
    seen = [path for path in OF_THE_HOST if _readable(path)]
    seen += [f"/proc/{entry}" for entry in os.listdir("/proc") if entry.isdigit() and int(entry) != os.getpid()]  # noqa: PTH208 - names are wanted
    if seen:
        leave(_empty() | {"fs": [{"op": "read", "path": path, "ts": 0.0} for path in seen]}, EVIDENCE)


CONDUCTS: Final[Mapping[str, Callable[[], None]]] = {
    conduct.__name__: conduct
    for conduct in (
        copied,
        no_probes,
        other_writes,
        sleeps,
        fork_bomb,
        fills_disk,
        talks,
        calls_out,
        looks_out,
    )
}


def _empty() -> Records:
    return empty_records(SkillType(os.environ["SSSA_SKILL_TYPE"]))


def _without(records: Records, probes: set[str]) -> Records:
    return {
        name: [record for record in entries if probes.isdisjoint(map(str, record.values()))]
        for name, entries in records.items()
    }


def _fill(place: Path) -> None:
    for name in _names(place):
        try:
            with name.open("wb") as file:
                while file.write(CHUNK):
                    continue
        except OSError:
            if not name.exists() or not name.stat().st_size:
                return


def _names(place: Path) -> Iterator[Path]:
    return (place / f"filled-{number}" for number in count())


def _reaches(target: tuple[str, int]) -> bool:
    try:
        socket.create_connection(target, timeout=1.0).close()
    except OSError:
        return False
    return True


def _record(target: tuple[str, int]) -> dict[str, Any]:
    return {"domain": target[0], "dst_port": target[1], "proto": "tcp", "ts": 0.0}


def _readable(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - whatever lies there
            return bool(file.read(1))
    except OSError:
        return False


if __name__ == "__main__":
    CONDUCTS[os.environ["SSSA_CONDUCT"]]()
