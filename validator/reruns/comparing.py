"""A miner's traces beside what its image left in a sandbox; for worker processes: strangers sent both (SPEC 15)."""

from collections.abc import Mapping
from typing import NamedTuple

from validator.protocol.answer import answer_limit, parse_answer
from validator.protocol.archives import pack
from validator.protocol.probes import probe_values
from validator.protocol.reasons import Reason
from validator.protocol.rerun import SHOWN, RerunEvent, RerunReport, TraceReport
from validator.protocol.skill_types import BASE_TRACES, SkillType
from validator.protocol.traces import Traces, TracesError, decode_trace_text, read_traces, shown_signatures
from validator.scoring import version


class Verdict(NamedTuple):
    """What a repeated run says of an answer; `report` is None where it left no traces that could be compared."""

    event: RerunEvent
    reason: Reason
    report: RerunReport | None
    detail: str = ""


def compare_answer(
    scoring_version: str, skill_type: SkillType, nonce: str, body: bytes, files: Mapping[str, bytes]
) -> Verdict:
    """Return how an answer that passed its gates compares with a repeated run.

    Args:
        scoring_version: of its round.
        skill_type: of its task.
        nonce: of its task.
        body: the answer as it was received.
        files: what the run left behind.

    Raises:
        ValidatorError: the body is not an answer that passed.
    """
    probes = probe_values(nonce)
    bundle = decode_trace_text(parse_answer(body, limit=answer_limit(runtime_primary=True)).trace_bundle or "")
    claimed = read_traces(bundle, skill_type, probes)
    repeated = pack(files)
    try:
        seen = read_traces(repeated, skill_type, probes)
    except TracesError as error:
        return Verdict("rerun_fail", Reason.RERUN_TRACES, None, str(error))
    compared = version(scoring_version).compare_runs(claimed.signatures, seen.signatures, seen.probes)
    mine, theirs = _differences(claimed, seen), _differences(seen, claimed)
    only_claimed = shown_signatures(bundle, mine)
    only_seen = shown_signatures(repeated, theirs)
    report = RerunReport(
        probes={"file": seen.probes.fs, "network": seen.probes.network, "process": seen.probes.process},
        traces={
            name: TraceReport(
                claimed=len(claimed.signatures[name]),
                seen=len(seen.signatures[name]),
                shared=len(claimed.signatures[name] & seen.signatures[name]),
                share=compared.shares[name],
                only_claimed=only_claimed[name],
                only_seen=only_seen[name],
            )
            for name in BASE_TRACES
        },
        fs_equal=compared.fs_equal,
        similarity=compared.similarity,
    )
    return Verdict(compared.event, compared.reason, report)


def _differences(one: Traces, other: Traces) -> dict[str, frozenset[bytes]]:
    """Return by base trace some of the signatures that only the first one has."""
    return {name: frozenset(sorted(one.signatures[name] - other.signatures[name])[:SHOWN]) for name in BASE_TRACES}
