"""One run of a bundle, by its type: starts it, feeds it, and returns its runtime traces (SPEC 5)."""

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tracer.launch import below, launch_of, read_composition
from tracer.mcp import McpDialogue
from tracer.places import Folder
from tracer.process import Launch, Run, Timing, run_process
from tracer.records import TRACES, Probes, Records, TracingError, empty_records, merge
from tracer.shell import SETUP, SETUP_NAME, ShellTrace

MAX_DEPTH: Final = 3
_SLUG: Final = re.compile(r"/tmp/sssa/probe-([0-9a-f]{8})\.txt")  # noqa: S108 - the protocol's path


@dataclass(slots=True)
class Traced:
    """The traces of a bundle, and how its runs ended (one for a single skill, one per child of a composition)."""

    records: Records
    runs: list[Run] = field(default_factory=list)


async def trace_bundle(
    files: Mapping[str, bytes], skill_type: str, probe: Probes, *, timeout_s: float, run: bool = True
) -> Records:
    """Run a bundle in a sandboxed process and return trace name to records, every name its type requires.

    Args:
        files: the bundle, as `read_bundle` returns it.
        skill_type: a runtime type.
        probe: the probe values; they are performed before the skill runs.
        timeout_s: seconds of wall time for everything; what was traced until then counts.
        run: False performs the probes only and executes nothing of the bundle.

    Raises:
        TracingError: a content type, probe values that are not the protocol's, or no process could be started.
    """
    return (await trace(files, skill_type, probe, timeout_s=timeout_s, run=run)).records


async def trace(
    files: Mapping[str, bytes], skill_type: str, probe: Probes, *, timeout_s: float, run: bool = True
) -> Traced:
    """Return what `trace_bundle` returns, and how each process ended; same arguments and errors."""
    if skill_type not in TRACES:
        raise TracingError(f"{skill_type} is not run")
    _check_probe(probe)
    folder = await _filled(files)
    try:
        tracer = _Tracer(folder, skill_type, time.monotonic() + timeout_s)
        if run:
            await tracer.run_skill(files, skill_type, probe)
        else:
            await tracer.run_launch(Launch("none", probe=probe), files)
        return tracer.traced
    finally:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, folder.remove))


async def _filled(files: Mapping[str, bytes]) -> Folder:
    """Return a folder with a bundle in it; a cancelled call leaves none behind."""
    filling = asyncio.get_running_loop().run_in_executor(None, Folder, files, {SETUP_NAME: SETUP})
    try:
        return await asyncio.shield(filling)
    except asyncio.CancelledError:
        await asyncio.wait([filling])  # the thread continues
        if filling.exception() is None:
            filling.result().remove()
        raise


def _check_probe(probe: Probes) -> None:
    """Refuse values that are not derived from a nonce: they name a file to write and a process to start."""
    match = _SLUG.fullmatch(probe.file_path)
    if match is None or Probes.of(match[1]) != probe:
        raise TracingError("the probe values are not those of SPEC 5")


class _Tracer:
    """Runs what one bundle consists of, one process after the other, and merges their records."""

    def __init__(self, folder: Folder, skill_type: str, deadline: float) -> None:
        self.folder = folder
        self.started = time.monotonic()
        self.deadline = deadline
        self.traced = Traced(empty_records(skill_type))

    async def run_skill(self, files: Mapping[str, bytes], skill_type: str, probe: Probes) -> None:
        """Run the skill, or the probes alone if nothing of it can be run."""
        launches = list(_launches(files, skill_type))
        now = round(time.monotonic() - self.started, 6)
        merge(self.traced.records, {"agent_calls": [{**call, "ts": now} for call in _agent_calls(files)]})
        if not launches:
            launches = [(Launch("none"), {})]
        for number, (launch, own_files) in enumerate(launches):
            wanted = Launch(launch.mode, launch.entry, launch.folder, probe if number == 0 else None)
            await self.run_launch(wanted, own_files)

    async def run_launch(self, launch: Launch, files: Mapping[str, bytes]) -> None:
        """Run one process within what is left of the time, and take its records."""
        remaining_s = self.deadline - time.monotonic()
        if remaining_s <= 0:
            return
        dialogue = McpDialogue(self.started) if launch.mode == "server" else None
        shell = ShellTrace(files) if launch.mode == "script" else None
        run = await run_process(
            self.folder,
            launch,
            Timing(self.started, remaining_s),
            talk=dialogue.talk if dialogue else None,
            text_line=shell.read if shell else None,
        )
        self.traced.runs.append(run)
        merge(self.traced.records, run.records)
        if dialogue:
            merge(self.traced.records, {"tool_calls": dialogue.calls})


def _launches(
    files: Mapping[str, bytes], skill_type: str, folder: str = "", depth: int = 0
) -> list[tuple[Launch, Mapping[str, bytes]]]:
    if skill_type != "agent_composition":
        launch = launch_of(files, skill_type, folder) if skill_type in TRACES else Launch("none")
        return [] if launch.mode == "none" else [(launch, files)]
    composition = read_composition(files) if depth < MAX_DEPTH else None
    launches: list[tuple[Launch, Mapping[str, bytes]]] = []
    for child in composition.children if composition else ():
        where = f"{folder}/{child.path}".strip("/")
        launches += _launches(below(files, child.path), child.skill_type, where, depth + 1)
    return launches


def _agent_calls(files: Mapping[str, bytes], depth: int = 0) -> list[dict[str, str]]:
    composition = read_composition(files) if depth < MAX_DEPTH else None
    if composition is None:
        return []
    calls = [{"caller": caller, "callee": callee} for caller, callee in composition.flow]
    for child in composition.children:
        calls += _agent_calls(below(files, child.path), depth + 1)
    return calls
