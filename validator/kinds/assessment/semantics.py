"""Gate 7: the semantic_subset of each runtime primary against the traces of its group (SPEC 5, D-21)."""

from collections.abc import Mapping

import msgspec

from validator.kinds.assessment.judge import PackedSignatures, Witnessed
from validator.kinds.judging import Judged
from validator.protocol.results import Packed, Submission
from validator.scoring import Version


def facts(version: Version, judged: Mapping[str, Judged]) -> tuple[Submission, ...]:
    """Return the answers to a task that passed, gate 7 filled in from those that are there; `judged` is by hotkey."""
    subsets = semantic_subsets(
        version, {hotkey: one.signatures for hotkey, one in judged.items() if isinstance(one, Witnessed)}
    )
    answers = (one.result.unpacked() for one in judged.values() if isinstance(one.result, Packed))
    return tuple(
        msgspec.structs.replace(one, semantic_subset=subsets.get(one.hotkey))
        for one in answers
        if isinstance(one, Submission)
    )


def semantic_subsets(version: Version, signatures: Mapping[str, PackedSignatures]) -> Mapping[str, float | None]:
    """Return the semantic_subset of each hotkey among the traces of one task."""
    return version.semantic_subsets({hotkey: packed.unpack() for hotkey, packed in signatures.items()})
