"""A runtime primary's signed answer with a megabyte of traces, as a program of some thousand steps leaves them."""

import base64
import json
from typing import Final

import msgspec
from builders import MINER, expect, make_sssa, make_task, trace_records

from samples.group import answers
from sssa.kinds.judging import Expected
from sssa.protocol.answer import Answer, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import SkillType, trace_names
from sssa.protocol.traces import read_traces

BYTES: Final = 1024 * 1024  # of records, unpacked
_TYPE: Final = SkillType.EXECUTABLE_PYTHON
_TASK: Final = make_task(_TYPE)


def traced() -> tuple[Expected[AssessmentTask], Answer, dict[str, bytes]]:
    """Return what was asked for, the answer, and the trace files in its bundle."""
    files = _files()
    packed = pack(files)
    probes = probe_values(_TASK.nonce)
    full = answers()[0].sssa
    unsigned = make_sssa(_TASK, (), read_traces(packed, _TYPE, probes).hashes)
    sssa = MINER.sign_document(msgspec.structs.replace(unsigned, analysis=full.analysis, policy=full.policy))
    return expect(_TASK), Answer(sssa, probes, base64.b64encode(packed).decode()), files


def _files() -> dict[str, bytes]:
    records = trace_records(_TASK.nonce)
    lines = {name: [json.dumps(record) for record in records[name]] for name in trace_names(_TYPE)}
    size = number = 0
    while size < BYTES:
        number += 1
        path = f"/skill/package_{number % 90}/module_{number % 700}.py"
        line = json.dumps({"ts": number / 100, "op": "read" if number % 4 else "write", "path": path})
        lines["fs"].append(line)
        size += len(line) + 1
    return {f"{name}.jsonl": "".join(f"{line}\n" for line in each).encode() for name, each in lines.items()}
