"""Rules of the subtensor runtime that this program copies, in one table, each with its source and spec version. Pure.

The program reads from the runtime what it offers: the subnet's parameters, its calls, the plan of its epochs, its spec
version. The rules in this table are only in its source, opentensor/subtensor at spec version 425, under
pallets/subtensor/src.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot, Neuron
from validator.chain.interface import VERSION_KEY, SubnetParameters

MOST_COMMITS: Final = 10
OWNER_EXEMPT: Final = 393  # spec version (#2532)
_NULL: Final = ("Null", {"Null": None}, 1)  # SubnetEpochConsensus: one validator sets all weights, whoever owns


def is_owner_exempt(spec_version: int, consensus: object) -> bool:
    """Return whether the owner's hotkey needs neither a permit nor the least stake; `consensus` as the chain has it."""
    return spec_version >= OWNER_EXEMPT and consensus not in _NULL


class SubmissionFacts(NamedTuple):
    """Facts that decide whether the runtime takes a row of weights.

    Attributes:
        me: this hotkey's slot.
        last_update: block of its last weights or commitment for the mechanism.
        commits: blocks of its commitments that are not revealed.
        row: target uid to u16; None before it is computed.
    """

    snapshot: MetagraphSnapshot
    parameters: SubnetParameters
    me: Neuron
    mechid: int
    last_update: int
    commits: Sequence[int] = ()
    row: Mapping[int, int] | None = None

    @property
    def is_exempt(self) -> bool:
        """True for the subnet owner's hotkey, where the runtime exempts it."""
        return self.parameters.owner_exempt and self.snapshot.owner_hotkey == self.me.hotkey


class Verdict(NamedTuple):
    """Verdict of a rule: refused or not, the numbers, the advice, the first block at which it can change."""

    refused: bool
    detail: str
    advice: str = ""
    retry: int | None = None

    @property
    def passes(self) -> bool:
        """True if a refusal ends by itself at a known block."""
        return self.retry is not None


class RuntimeRule(NamedTuple):
    """One rule of the runtime.

    Attributes:
        name: of the precondition, in the log and in `validator doctor`.
        source: file and function of the runtime.
        since: spec version since which it is as here; 0: as far back as was read.
        reason: why nothing is sent where it refuses.
        judge: compares a row with it.
    """

    name: str
    source: str
    since: int
    reason: Reason
    judge: Callable[[SubmissionFacts], Verdict]


def _permit(facts: SubmissionFacts) -> Verdict:
    if facts.me.validator_permit:
        return Verdict(False, "a validator permit")
    if facts.is_exempt:
        return Verdict(False, "no validator permit; the subnet owner's hotkey needs none")
    advice = "permits follow stake at the end of an epoch: stake more to this hotkey, or wait for the epoch's end"
    return Verdict(True, "no validator permit; permits follow stake, by epoch", advice)


def _stake(facts: SubmissionFacts) -> Verdict:
    least = facts.parameters.min_stake_tao
    exempt = "; the subnet owner's hotkey needs none" if facts.is_exempt else ""
    detail = f"{facts.me.stake_tao:g} TAO, at least {least:g} asked for{exempt}"
    return Verdict(facts.me.stake_tao < least and not exempt, detail, "stake more to this hotkey")


def _mechanism(facts: SubmissionFacts) -> Verdict:
    count = facts.parameters.mechanisms
    advice = "set weights.assessment_mechid and weights.workflow_mechid to mechanisms that the subnet has"
    return Verdict(facts.mechid >= count, f"mechanism {facts.mechid} of {count}", advice)


def _version_key(facts: SubmissionFacts) -> Verdict:
    least = facts.parameters.version_key
    detail = f"weights carry {VERSION_KEY}, at least {least} asked for"
    return Verdict(least > VERSION_KEY, detail, "upgrade this program")


def _commit_reveal(facts: SubmissionFacts) -> Verdict:
    hidden, takes = facts.parameters.commit_reveal, facts.parameters.takes_commitments
    mode = "committed, revealed by the chain later" if hidden else "shown at once"
    cannot = hidden and not takes
    advice = "name a node with the network's present runtime in chain.endpoints, or let the owner turn it off"
    detail = f"weights are {mode}" + ("; this node's runtime has no call for that" if cannot else "")
    return Verdict(cannot, detail, advice)


def _commits(facts: SubmissionFacts) -> Verdict:
    """Count the commitments of this epoch: those of the last tempo's blocks, which may be some more."""
    recent = [block for block in facts.commits if block > facts.snapshot.block - facts.parameters.tempo]
    detail = f"{len(recent)} commitments in this epoch, less than {MOST_COMMITS}"
    return Verdict(len(recent) >= MOST_COMMITS, detail, "nothing: the next weights wait until one is revealed")


def _rate_limit(facts: SubmissionFacts) -> Verdict:
    limit, block = facts.parameters.weights_rate_limit, facts.snapshot.block
    free = facts.last_update + limit
    detail = f"{limit} blocks between weights, the next from block {free}, now {block}"
    return Verdict(free > block, detail, "nothing: the next weights wait for it", max(free, block + 1))


def _least_weights(facts: SubmissionFacts) -> Verdict:
    least = min(facts.parameters.min_allowed_weights, len(facts.snapshot.neurons))
    if facts.row is None:
        return Verdict(False, f"at least {least} uids with a weight asked for")
    few = len(facts.row) < least and set(facts.row) != {facts.me.uid}
    return Verdict(few, f"{len(facts.row)} uids with a weight, at least {least} asked for")


_WEIGHTS: Final = "subnets/weights.rs"
# In the order in which a reason is looked for. Three more rules refuse nothing:
# - Since spec version 330 the limit on one weight is not applied, whatever the subnet sets as MaxWeightsLimit
#   (utils/misc.rs, get_max_weight_limit); so rows are sent as they are.
# - The runtime scales a row so that its largest weight is 65,535 (internal_set_weights), as in ours.
# - Where a runtime tells no plan of its epochs, `chain/bittensor.py` computes it (coinbase/run_coinbase.rs).
RULES: Final = (
    RuntimeRule("mechanism", f"{_WEIGHTS}, ensure_mechanism_exists", 0, Reason.WEIGHTS_REJECTED, _mechanism),
    RuntimeRule("permit", f"{_WEIGHTS}, check_validator_permit", OWNER_EXEMPT, Reason.WEIGHTS_NO_PERMIT, _permit),
    RuntimeRule("stake", "lib.rs, check_weights_min_stake", OWNER_EXEMPT, Reason.WEIGHTS_LOW_STAKE, _stake),
    RuntimeRule("version_key", f"{_WEIGHTS}, check_version_key", 0, Reason.WEIGHTS_VERSION_KEY, _version_key),
    RuntimeRule("commit_reveal", "macros/dispatches.rs", 0, Reason.WEIGHTS_REJECTED, _commit_reveal),
    RuntimeRule(
        "commitments", f"{_WEIGHTS}, internal_commit_timelocked_weights", 0, Reason.WEIGHTS_UNREVEALED, _commits
    ),
    RuntimeRule("rate_limit", f"{_WEIGHTS}, check_rate_limit", 0, Reason.WEIGHTS_RATE_LIMITED, _rate_limit),
    RuntimeRule("least_weights", f"{_WEIGHTS}, check_length", 0, Reason.WEIGHTS_TOO_FEW, _least_weights),
)


def preconditions(
    snapshot: MetagraphSnapshot, parameters: SubnetParameters, me: Neuron, mechid: int
) -> Iterator[tuple[RuntimeRule, Verdict]]:
    """Yield each rule with its verdict before any row is computed, as of the snapshot."""
    facts = SubmissionFacts(snapshot, parameters, me, mechid, me.last_update)
    return ((rule, rule.judge(facts)) for rule in RULES)
