"""Test miners that cheat on execution traces: they trace only the probes, copy another miner's run, or invent a run."""

import asyncio
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from tracer.launch import COMPOSITION, read_composition
from tracer.places import HOME, SKILL
from tracer.records import Records, empty_records

from miner.analysis import Analysis
from miner.assessment import Assessment, Response, encode
from miner.behaviours import careless
from sssa.protocol.answer import ProbeEvidence
from sssa.protocol.skill_types import SkillType

_PACE_S: Final = 0.01
_IMPORT: Final = re.compile(r"^(?:import|from) ([A-Za-z_][\w.]*)", re.MULTILINE)
_CODE: Final = (".py", ".js", ".mjs", ".cjs", ".sh")
_HOST: Final = re.compile(r"\b(https?)://([a-z0-9-]+(?:\.[a-z0-9-]+)+)")
_PLACE: Final = re.compile(
    r"(?<![\w:/])(?:[~.]?/)?[\w-]+(?:/[\w.-]+)*\.(?:json|txt|log|csv|md|dat|lock|part|idx|ya?ml|cfg|env)\b"
)
_COMMAND: Final = re.compile(r"(?:run|Popen|check_output|check_call|spawn|execFileSync)\(\s*\[([^\]]+)\]")
_TOOL: Final = re.compile(r'"name"\s*:\s*"([\w.-]{1,64})"')


async def answer_without_a_run(assessment: Assessment) -> Response:
    """Return a full report with traces of the probes only. The bundle is not run."""
    return encode(await assessment.answer(await assessment.analysis(), run=False))


class Copying:
    """Colluding miners that share one run: the first to get a task runs it, the others send the same traces."""

    runs: ClassVar[dict[str, asyncio.Task[Records]]] = {}

    async def __call__(self, assessment: Assessment) -> Response:
        """Return the full answer with traces that may be another miner's."""
        analysis, task_id = await assessment.analysis(), assessment.dispatch.task_id
        if not assessment.runtime_primary:
            return encode(await assessment.answer(analysis))
        run = self.runs.get(task_id) or asyncio.create_task(assessment.traces(run=True))
        self.runs[task_id] = run
        return encode(await assessment.answer(analysis, claims=await asyncio.shield(run)))


async def invent_a_run_carelessly(assessment: Assessment) -> Response:
    """Return a careless report with traces guessed from the source files, and copied probes."""
    analysis = await assessment.analysis()
    hotkey, task_id = assessment.kit.signer.hotkey, assessment.dispatch.task_id
    return await _pretended(assessment, careless(analysis, assessment.files, hotkey, task_id))


async def invent_a_run(assessment: Assessment) -> Response:
    """Return a full report with invented traces."""
    return await _pretended(assessment, await assessment.analysis())


async def _pretended(assessment: Assessment, analysis: Analysis) -> Response:
    dispatch = assessment.dispatch
    claims = invented(assessment.files, dispatch.skill_type, dispatch.probe_spec)
    return encode(await assessment.answer(analysis, claims=claims))


def invented(files: Mapping[str, bytes], skill_type: SkillType, probe: ProbeEvidence) -> Records:
    """Return trace records of the skill type: the dispatch's probes, and guesses from the source."""
    records, ticks = empty_records(skill_type), itertools.count()
    for name, fields in itertools.chain(_probes(probe), _guesses(files)):
        if name in records:
            records[name].append({**fields, "ts": round(next(ticks) * _PACE_S, 6)})
    return records


def _probes(probe: ProbeEvidence) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "fs", {"op": "write", "path": probe.file_path}
    yield "network", {"domain": probe.dns_host, "dst_port": 53, "proto": "dns"}
    yield "process", {"cmd": f"echo {probe.process_echo}"}


def _guesses(files: Mapping[str, bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, content in sorted(files.items()):
        text = content.decode("utf-8", "replace")
        yield "fs", {"op": "read", "path": f"{SKILL}/{path}"}
        if path.endswith(".py"):
            yield from (("imports", {"module": module}) for module in _IMPORT.findall(text))
        elif path.endswith(".sh"):
            lines = [line.strip() for line in text.splitlines()]
            yield from (("shell_commands", {"cmd": line[:1_000]}) for line in lines if line and line[0] != "#")
        elif path.endswith("mcp.json"):
            yield from (("tool_calls", {"tool_name": tool}) for tool in _TOOL.findall(text))
        elif path == COMPOSITION and (composition := read_composition(files)) is not None:
            yield from (("agent_calls", {"caller": one, "callee": other}) for one, other in composition.flow)
        if path.endswith(_CODE):
            yield from _named_in(text)


def _named_in(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a trace record for each path, host and command in the code."""
    for scheme, host in sorted(set(_HOST.findall(text))):
        yield "network", {"domain": host, "dst_port": 53, "proto": "dns"}
        yield "network", {"domain": host, "dst_port": 80 if scheme == "http" else 443, "proto": "tcp"}
    for place in sorted(set(_PLACE.findall(text))):
        path = place.replace("~", HOME, 1) if place[0] in "/~" else f"{SKILL}/{place.removeprefix('./')}"
        writes = re.search(rf"(?:>|['\"]){re.escape(place)}['\"]?(?:, *['\"][wax]|\)*\.(?:write|touch|mkdir))", text)
        yield "fs", {"op": "write" if writes else "read", "path": path}
    for command in sorted(set(_COMMAND.findall(text))):
        yield "process", {"cmd": " ".join(re.findall(r"['\"]([^'\"]+)['\"]", command))}
