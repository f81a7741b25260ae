"""The read-only API: each route with its parameters, its document and who may read it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from publisher.publish import Answer, Published, Refused, Revoked
from publisher.web.admission import Viewer
from publisher.web.refusals import GoneError, NotFoundError
from publisher.web.views import Views
from sssa.protocol.limits import MAX_ROUND_ID
from sssa.protocol.round import ReputationKind
from sssa.protocol.skill_types import SkillType
from validator.audit.documents import (
    ExplanationDocument,
    RoundDocument,
    explanation_document,
    for_the_miner,
    round_document,
)
from validator.audit.explain.miner import MinerExplanation, explain_miner
from validator.audit.explain.round_explanation import explain_round
from validator.audit.views import MinerView, WeightsView, latest_weights, miner_list, round_list
from validator.health.client import HealthAnswer
from validator.health.status import Overview
from validator.store.rows import RoundRecord, WeightsRecord
from validator.weights.preview import PlanView

PREFIX: Final = "/api/v1"
Access = Literal["public", "miner", "operator"]
Hotkey = Annotated[
    str, Meta(pattern=r"^[1-9A-HJ-NP-Za-km-z]{47,48}$", description="An ss58 address.", examples=["5" + "F" * 47])
]
_OF_PURL: Final = 50
Number = Annotated[int, Meta(ge=0, le=MAX_ROUND_ID)]
Limit = Annotated[int, Meta(ge=1, le=200, description="Most items of the page.")]
Before = Annotated[int, Meta(ge=0, le=MAX_ROUND_ID, description="Items with a smaller number alone: `next` of a page.")]


class Query(NamedTuple):
    """A request: its parameters as the route's struct has them, and who asks."""

    views: Views
    viewer: Viewer
    parameters: Any


class NoParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """None."""


class PageParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Page of a list, newest first."""

    limit: Limit = 50
    before: Before | UnsetType = UNSET


class ListParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Number of the newest entries."""

    limit: Limit = 50


class RoundParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The round."""

    round_id: Number


class MinerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The miner, and the number of its last rounds."""

    hotkey: Hotkey
    last: Annotated[int, Meta(ge=1, le=100)] = 30


class ExplanationParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The round and the miner."""

    round_id: Number
    hotkey: Hotkey


class MechanismParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The mechanism; by default that of assessments."""

    mechid: Annotated[int, Meta(ge=0, le=255)] | UnsetType = UNSET


class SequenceParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The receipt."""

    sequence: Number


class AttestationParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The bundle."""

    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$", description="Of the bundle, a gzipped tar.")]


class AttestationsParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The package; without one a page of all attestations, in the order of their digests."""

    purl: Annotated[str, Meta(pattern=r"^pkg:[!-~]{1,500}$", description="A package URL.")] | UnsetType = UNSET
    after: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$", description="`next` of a page.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=50, description="Most bundles looked at for the page.")] = 50


class ProofParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The task."""

    task_id: Annotated[str, Meta(pattern=r"^[!-~]{1,128}$", description="As a round's tasks name it.")]


class RoundList(Struct, frozen=True):
    """Rounds, newest first; `next` is `before` of the next page, null on the last one."""

    rounds: tuple[RoundRecord, ...]
    next: int | None


class AttestationFacts(Struct, frozen=True, omit_defaults=True):
    """A bundle that has an attestation, or had one: then `revoked`."""

    sha256: str
    purl: str | None = None
    revoked: bool = False


class AttestationList(Struct, frozen=True):
    """Attestations; `next` is `after` of the next page, null on the last one."""

    attestations: tuple[AttestationFacts, ...]
    next: str | None = None


class AttestationDocument(Struct, frozen=True):
    """A DSSE envelope with an in-toto statement, and the receipt that vouches for its key (docs/attestations.md)."""

    envelope: dict[str, Any]
    key: dict[str, Any]


class MinerList(Struct, frozen=True):
    """Everyone ever seen, the highest score first."""

    miners: tuple[MinerView, ...]


class ReputationPoint(Struct, frozen=True):
    """The reputation for a type after an event of a round."""

    round_id: int
    skill_type: SkillType
    kind: ReputationKind
    after: float


class MinerDocument(Struct, frozen=True):
    """A miner, and its reputation over the rounds looked at, oldest first."""

    miner: MinerExplanation
    reputation: tuple[ReputationPoint, ...]


class PlanDocument(Struct, frozen=True):
    """The weights that would be sent now, next to the row on chain; by mechanism."""

    mechanisms: tuple[PlanView, ...]


class WeightsHistory(Struct, frozen=True):
    """Submissions of weights, newest first."""

    submissions: tuple[WeightsRecord, ...]


class ReceiptDocument(Struct, frozen=True):
    """A receipt of the log. `line` is as exported, without its newline; `sha256` is of its bytes."""

    sequence: int
    kind: str
    round_id: int | None
    sha256: str
    line: dict[str, Any]


class ReceiptList(Struct, frozen=True):
    """Receipts, newest first; `next` is `before` of the next page, null on the last one."""

    receipts: tuple[ReceiptDocument, ...]
    next: int | None


async def _attestations(query: Query) -> AttestationList:
    wanted, publisher = query.parameters, query.views.attested.publisher
    async with query.views.read() as tx:
        if wanted.purl is UNSET:
            digests = tuple(await tx.retired.after("" if wanted.after is UNSET else wanted.after, wanted.limit))
        else:
            digests = publisher.bundles_of(wanted.purl)[:_OF_PURL]
        answers = [await query.views.attested.read(tx, sha256) for sha256 in digests]
    is_last = wanted.purl is not UNSET or len(digests) < wanted.limit
    return AttestationList(_attestation_facts(answers), None if is_last else digests[-1])


def _attestation_facts(answers: Sequence[Answer]) -> tuple[AttestationFacts, ...]:
    """Return the facts of published and revoked attestations: the reasons for others could help a miner."""
    return tuple(
        AttestationFacts(one.sha256, one.purl)
        if isinstance(one, Published)
        else AttestationFacts(one.sha256, None, True)
        for one in answers
        if not isinstance(one, Refused)
    )


async def _attestation(query: Query) -> Raw:
    answer = await query.views.attestation_of(query.parameters.sha256)
    match answer:
        case Published():
            return Raw(answer.document)
        case Revoked():
            raise GoneError(answer.line)
    raise NotFoundError(answer.why if query.viewer.is_operator else "there is no attestation of this bundle")


async def _conditions(query: Query) -> HealthAnswer:
    return await query.views.health.get()


async def _status(query: Query) -> Overview:
    return await query.views.overview.get()


async def _rounds(query: Query) -> RoundList:
    before = query.parameters.before
    async with query.views.read() as tx:
        rounds = await round_list(tx, query.parameters.limit, None if before is UNSET else before)
    return RoundList(rounds, _next(rounds and rounds[-1].round_id, len(rounds), query))


async def _round(query: Query) -> RoundDocument:
    async with query.views.read() as tx:
        document = await round_document(tx, query.parameters.round_id)
    if document is None:
        raise NotFoundError(f"there is no round {query.parameters.round_id}")
    return document


async def _miners(query: Query) -> MinerList:
    async with query.views.read() as tx:
        return MinerList(await miner_list(tx, query.views.clock.now(), query.views.mechanisms))


async def _miner(query: Query) -> MinerDocument:
    views, wanted = query.views, query.parameters
    async with views.read() as tx:
        explained = await explain_miner(tx, wanted.hotkey, wanted.last, views.clock.now(), views.mechanisms)
        outcomes = [(number, await tx.records.outcome(number)) for number in sorted(explained.rounds)]
    events = tuple(
        ReputationPoint(number, event.skill_type, event.kind, event.after)
        for number, outcome in outcomes
        for event in (outcome.reputation if outcome is not None else ())
        if event.hotkey == explained.hotkey
    )
    return MinerDocument(explained, events)


async def _explanation(query: Query) -> ExplanationDocument:
    round_id, hotkey = query.parameters.round_id, query.parameters.hotkey
    async with query.views.read() as tx:
        document = explanation_document(await explain_round(tx, round_id, hotkey, query.views.mechanisms))
        return document if query.viewer.is_operator else for_the_miner(document, await tx.retired.of_round(round_id))


async def _plan(query: Query) -> PlanDocument:
    return PlanDocument(await query.views.plan.get())


async def _weights(query: Query) -> WeightsView:
    mechid = query.parameters.mechid
    async with query.views.read() as tx:
        weights = await latest_weights(
            tx, query.views.settings.weights.assessment_mechid if mechid is UNSET else mechid
        )
    if weights is None:
        raise NotFoundError("no weights were submitted yet")
    return weights


async def _history(query: Query) -> WeightsHistory:
    async with query.views.read() as tx:
        return WeightsHistory(await tx.weights.listing(query.parameters.limit))


async def _receipts(query: Query) -> ReceiptList:
    async with query.views.read() as tx:
        last = await tx.receipts.count()
        before = last if query.parameters.before is UNSET else min(query.parameters.before, last)
        numbers = range(before - 1, max(-1, before - 1 - query.parameters.limit), -1)
        receipts = [await _receipt_of(tx, number) for number in numbers]
    return ReceiptList(tuple(receipts), _next(receipts and receipts[-1].sequence, len(receipts), query))


async def _receipt(query: Query) -> ReceiptDocument:
    async with query.views.read() as tx:
        return await _receipt_of(tx, query.parameters.sequence)


async def _receipt_of(tx: Any, sequence: int) -> ReceiptDocument:
    receipt = await tx.receipts.get(sequence)
    if receipt is None:
        raise NotFoundError(f"there is no receipt {sequence}")
    return ReceiptDocument(
        receipt.sequence, receipt.kind, receipt.round_id, receipt.sha256, msgspec.json.decode(receipt.line)
    )


async def _proof(query: Query) -> Raw:
    async with query.views.read() as tx:
        proof = await tx.proofs.of_task(query.parameters.task_id)
    if proof is None:
        raise NotFoundError("there is no proof of this task")
    return Raw(proof.document)


def _next(last: Any, many: int, query: Query) -> int | None:
    return last if many == query.parameters.limit and last else None


class Route(NamedTuple):
    """A path that is read.

    Attributes:
        path: below the prefix; names in braces are parameters.
        answer: makes the document.
        document: its type; of one that is stored as bytes, a dict.
        parameters: a struct with those of the path and of the query.
        access: everybody where `web.public` says so, the miner that the parameters name, or the operator alone.
        lasts: whether the document at this address never changes.
    """

    path: str
    answer: Callable[[Query], Awaitable[Any]]
    document: Any
    parameters: type[Struct]
    access: Access
    what: str
    lasts: bool = False


ROUTES: Final = (
    Route("/attestations", _attestations, AttestationList, AttestationsParameters, "public", "Attested bundles."),
    Route(
        "/attestations/{sha256}",
        _attestation,
        AttestationDocument,
        AttestationParameters,
        "public",
        "The attestation of a bundle; 410 with the receipt that revokes it.",
    ),
    Route("/conditions", _conditions, HealthAnswer, NoParameters, "operator", "Active conditions, with advice."),
    Route("/status", _status, Overview, NoParameters, "operator", "Store, health and chain at one moment."),
    Route("/rounds", _rounds, RoundList, PageParameters, "operator", "Rounds, newest first."),
    Route("/rounds/{round_id}", _round, RoundDocument, RoundParameters, "operator", "A whole round."),
    Route(
        "/rounds/{round_id}/miners/{hotkey}",
        _explanation,
        ExplanationDocument,
        ExplanationParameters,
        "miner",
        "Everything that a settled round did to a miner. For the miner without truths that are still in use.",
    ),
    Route("/miners", _miners, MinerList, NoParameters, "operator", "Everyone ever seen, the highest score first."),
    Route("/miners/{hotkey}", _miner, MinerDocument, MinerParameters, "miner", "A miner and its last rounds."),
    Route("/weights", _weights, WeightsView, MechanismParameters, "operator", "The newest submission of weights."),
    Route("/weights/plan", _plan, PlanDocument, NoParameters, "operator", "Weights as planned, and the row on chain."),
    Route("/weights/history", _history, WeightsHistory, ListParameters, "operator", "Submissions, newest first."),
    Route("/receipts", _receipts, ReceiptList, PageParameters, "operator", "Receipts of the log, newest first."),
    Route("/receipts/{sequence}", _receipt, ReceiptDocument, SequenceParameters, "operator", "A receipt.", lasts=True),
    Route(
        "/proofs/{task_id}", _proof, dict[str, Any], ProofParameters, "operator", "The proof of a group.", lasts=True
    ),
)
