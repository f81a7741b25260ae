"""Benchmark of scoring: from the bytes of a group's answers to components and agreements (SPEC 2 to 4)."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import permutations

import msgspec
from harness import Case, per_second
from samples.group import answers, bodies
from samples.scored_group import compared, from_bytes

from sssa.protocol.answer import Answer
from sssa.scoring import Claims, claims_of

_DECODER = msgspec.json.Decoder()


def cases() -> Iterator[Case]:
    """Yield the whole way of a group for each way of writing an answer, and what it is after reading."""
    group = answers()
    written = {"no spaces": bodies(group), "as Python's json writes": [_spaced(answer) for answer in group]}
    for form, data in written.items():
        yield Case(
            f"bytes to agreements, 5 answers of 20 findings, {form}",
            "groups/s",
            per_second(partial(from_bytes, data)),
            per_second(partial(_decoded, data)),
            "bare decode",
            "≥ 2,000",
        )
    masks = [_masks(claims_of(answer.sssa)) for answer in group]
    yield Case(
        "claims to agreements, 5 attestations of 20 findings",
        "groups/s",
        per_second(partial(compared, group)),
        per_second(lambda: _compared(masks)),
        "bit masks once built",
        "≥ 3,000",
    )


def _spaced(answer: Answer) -> bytes:
    return json.dumps(msgspec.to_builtins(answer)).encode()


def _decoded(data: Sequence[bytes]) -> object:
    return [_DECODER.decode(body) for body in data]


def _masks(claims: Claims) -> list[int]:
    """Return the claims' sets as masks; what bit stands for what does not matter for how long comparing takes."""
    sets = (claims.findings, claims.capabilities, claims.dependencies, claims.cves, claims.rules)
    return [sum(1 << hash(item) % 61 for item in one) for one in sets]


def _compared(masks: Sequence[Sequence[int]]) -> int:
    """Count what each two members share."""
    shared = 0
    for mine, theirs in permutations(masks, 2):
        for one, other in zip(mine, theirs, strict=True):
            shared += (one & other).bit_count()
    return shared
