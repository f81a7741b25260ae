"""Comparison of miners' traces with three runs of a bundle (SPEC 15). No I/O; runs in a worker, for `executions.py`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sssa.protocol.answer import answer_limit, parse_answer, probe_values
from sssa.protocol.archives import pack
from sssa.protocol.execution import SHOWN, AnswerFileReport, AnswerReport, AnswerResult, RunFileReport, RunReport
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import BASE_TRACES, SkillType
from sssa.protocol.traces import (
    decode_trace_text,
    digitless_digests,
    read_traces,
    shown_signatures,
    signature_digest,
)
from sssa.scoring import ComparedAnswer, ExecutionRun, TracedAnswer, compare_execution, version


class ExecutedBundle(NamedTuple):
    """The facts of a task for its comparison; `mark` is the path that its execution mark touches, as traces name it.

    `made_here`: it was made at this validator for its round.
    """

    scoring_version: str
    skill_type: SkillType
    nonce: str
    mark: str | None
    made_here: bool


class Compared(NamedTuple):
    """Result of comparing runs with answers; if `inconclusive` gives a reason, `results` count for nobody."""

    inconclusive: Reason | None
    report: RunReport
    results: tuple[AnswerResult, ...]


def compare_task(
    task: ExecutedBundle, runs: Sequence[Mapping[str, bytes]], answers: Sequence[tuple[str, bytes]]
) -> Compared:
    """Return how answers that passed their gates compare with three runs that ended by themselves.

    `runs` are the files that the bundle, the bundle again, and nothing left; `answers` hotkey and body of the valid
    primaries, in group order. A mark that both runs of the bundle do not show is asked of nobody: its code was not
    reached.

    Raises:
        TracesError: what a run left is no trace bundle.
        ValidatorError: a body is not an answer that passed.
    """
    probes = probe_values(task.nonce)
    packed = [pack(files) for files in runs]
    seen = [read_traces(one, task.skill_type, probes) for one in packed]
    bundles = {
        hotkey: decode_trace_text(parse_answer(body, limit=answer_limit(runtime_primary=True)).trace_bundle or "")
        for hotkey, body in answers
    }
    claimed = {hotkey: read_traces(one, task.skill_type, probes) for hotkey, one in bundles.items()}
    mark = None if task.mark is None else signature_digest("fs", {"op": "write", "path": task.mark})
    shown = mark is not None and all(mark in one.signatures["fs"] for one in seen[:2])
    digitless: dict[bytes, bytes] = {}
    for one in (*packed, *bundles.values()):
        digitless |= digitless_digests(one, BASE_TRACES)
    execution = compare_execution(
        version(task.scoring_version),
        [ExecutionRun(True, all(one.probes), one.signatures) for one in seen],
        [TracedAnswer(hotkey, all(one.probes), one.signatures) for hotkey, one in claimed.items()],
        probes={name: frozenset().union(*(one.probe_signatures[name] for one in seen)) for name in BASE_TRACES},
        mark=("fs", mark) if shown else None,
        made_here=task.made_here,
        digitless=digitless.__getitem__,
    )
    report = RunReport(
        {
            name: RunFileReport(len(one.stable), len(one.possible), len(one.tracer), one.varying)
            for name, one in execution.files.items()
        },
        task.mark if shown else None,
    )
    results = tuple(
        AnswerResult(one.hotkey, one.event, _report(one, packed[0], bundles[one.hotkey])) for one in execution.answers
    )
    return Compared(execution.inconclusive, report, results)


def _report(one: ComparedAnswer, run: bytes, bundle: bytes) -> AnswerReport:
    missing = shown_signatures(run, {name: sorted(file.missing)[:SHOWN] for name, file in one.files.items()})
    invented = shown_signatures(bundle, {name: sorted(file.invented)[:SHOWN] for name, file in one.files.items()})
    return AnswerReport(
        one.faults,
        one.mark,
        {
            name: AnswerFileReport(
                file.claimed, file.shared, len(file.missing), len(file.invented), missing[name], invented[name]
            )
            for name, file in one.files.items()
        },
    )
