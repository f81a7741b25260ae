"""The simulated subnet as a document, and the file that keeps it.

One JSON object, closed at every level: `state_version` "1", `rules`, `neurons` by uid, `weights` by mechanism and uid,
`commits` in order, `commitments` by hotkey. Blocks are not in it: they follow from `rules.genesis` and the clock; nor
are submissions that no block holds yet: they are gone with the process.
"""

from collections.abc import Hashable, Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from validator.chain.base import ChainError
from validator.chain.weight_rows import U16_MAX
from validator.files import why, write_file
from validator.protocol import typed
from validator.protocol.round import Axon
from validator.protocol.sssa import Document
from validator.protocol.strict_json import JsonError, SchemaError, decode
from validator.protocol.text import printable

STATE_VERSION: Final = "1"
_MAX_FILE: Final = 16 * 1024 * 1024
_SMALL = Annotated[int, Meta(ge=0, le=U16_MAX)]
_Blocks = Annotated[int, Meta(ge=0, le=2**53 - 1)]
_Tao = Annotated[float, Meta(ge=0, le=21e6)]
_Key = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z]{1,64}\Z")]


class ChainStateError(ChainError):
    """The simulated chain's file cannot be used."""


class SubnetRules(Document, frozen=True):
    """What does not change in a simulated subnet's life.

    Attributes:
        netuid: the subnet.
        seed: block hashes follow from it.
        genesis: time of block 0, whole seconds since the Unix epoch.
        block_time_s: seconds between blocks.
        tempo: blocks in an epoch, less one.
        max_uids: slots.
        immunity_period: blocks during which a new neuron cannot be replaced.
        weights_rate_limit: blocks between two submissions of one neuron.
        min_stake_tao: least stake with which weights may be set, TAO.
        mechanisms: number of mechanism ids.
        owner_hotkey: the subnet owner's; None if it names nobody.
        version_key: least version key that weights must carry.
        commitment_space: bytes that one hotkey may commit to in an epoch; each time counts for 100 at least.
        reveal_epochs: weights are committed, and revealed when so many epochs have begun since; 0: set in the open.
    """

    seed: str
    genesis: Annotated[int, Meta(ge=0, le=253_402_300_799)]
    netuid: _SMALL = 1
    block_time_s: Annotated[float, Meta(ge=0.001, le=60)] = 12.0
    tempo: Annotated[int, Meta(ge=1, le=U16_MAX)] = 360
    max_uids: Annotated[int, Meta(ge=1, le=U16_MAX + 1)] = 256
    immunity_period: _Blocks = 4096
    weights_rate_limit: _Blocks = 100
    min_stake_tao: _Tao = 0.0
    mechanisms: Annotated[int, Meta(ge=1, le=256)] = 1
    owner_hotkey: _Key | None = None
    version_key: _Blocks = 0
    reveal_epochs: Annotated[int, Meta(ge=0, le=1_000)] = 0
    commitment_space: _Blocks = 3_100


class Slot(Document, frozen=True):
    """A registered neuron. `last_update` (of mechanism 0) and `registered_at` are block numbers."""

    uid: _SMALL
    hotkey: _Key
    stake_tao: _Tao
    validator_permit: bool
    axon: Axon | None
    last_update: _Blocks
    registered_at: _Blocks


class WeightRow(Document, frozen=True):
    """One neuron's weights for one mechanism: (target uid, u16), by uid, as set or committed in `block`."""

    mechid: Annotated[int, Meta(ge=0, le=255)]
    uid: _SMALL
    block: _Blocks
    targets: tuple[tuple[_SMALL, Annotated[int, Meta(ge=1, le=U16_MAX)]], ...]


class CommitmentRow(Document, frozen=True):
    """What a hotkey committed to in `block`: bytes as hex, and how many of the epoch's space it has taken by then."""

    hotkey: _Key
    block: _Blocks
    content: Annotated[str, Meta(pattern=r"\A([0-9a-f]{2}){1,128}\Z")]
    space: _Blocks


class SubnetState(Document, frozen=True):
    """Everything about a simulated subnet but the present block."""

    state_version: Literal["1"]
    rules: SubnetRules
    neurons: tuple[Slot, ...] = ()
    weights: tuple[WeightRow, ...] = ()
    commits: tuple[WeightRow, ...] = ()
    commitments: tuple[CommitmentRow, ...] = ()


def load_state(file: Path) -> SubnetState:
    """Return the state that `save_state` wrote.

    Raises:
        ChainStateError: no such file, not such a document, or one that contradicts itself; the text names the field.
    """
    name = printable(str(file))
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_FILE + 1)
        state = decode(data, SubnetState, limit=_MAX_FILE)
    except OSError as error:
        raise ChainStateError(f"{name}: {error.strerror}") from None
    except JsonError as error:
        raise ChainStateError(f"{name}: {error.detail}") from None
    _check(state, name)
    return state


def save_state(state: SubnetState, file: Path) -> None:
    """Write the state so that a crash leaves the old file or the new one, never a part of one.

    Raises:
        ChainStateError: the file cannot be written.
    """
    data = msgspec.json.format(msgspec.json.encode(state), indent=1)
    try:
        write_file(file, data, replace=True)
    except OSError as error:
        raise ChainStateError(f"{printable(str(file))}: {why(error)}") from None


def check_rules(rules: SubnetRules) -> None:
    """Check rules that were built in code.

    Raises:
        ChainStateError: naming the field.
    """
    try:
        typed.convert(msgspec.to_builtins(rules), SubnetRules)
    except msgspec.ValidationError as error:
        raise ChainStateError(f"rules: {printable(str(error))}") from None


def check_slot(slot: Slot) -> None:
    """Check a slot that was built in code, and what its types cannot say of its axon.

    Raises:
        SchemaError: naming the field.
    """
    try:
        typed.convert(msgspec.to_builtins(slot), Slot)
        if slot.axon is not None:
            ip_address(slot.axon.ip)
    except msgspec.ValidationError as error:
        raise SchemaError(printable(str(error))) from None
    except ValueError:
        raise SchemaError("not an address - at `axon.ip`") from None
    if slot.axon is not None and not 0 < slot.axon.port <= U16_MAX:
        raise SchemaError(f"not from 1 to {U16_MAX} - at `axon.port`")


def _check(state: SubnetState, name: str) -> None:
    for i, slot in enumerate(state.neurons):
        try:
            check_slot(slot)
        except SchemaError as error:
            raise ChainStateError(f"{name}: {error.detail.replace('at `', f'at `neurons[{i}].')}") from None
    rules, uids = state.rules, {slot.uid for slot in state.neurons}
    faults = (
        (any(uid >= rules.max_uids for uid in uids), "a uid is not below rules.max_uids - at `neurons`"),
        (_repeats(slot.uid for slot in state.neurons), "two neurons share a uid - at `neurons`"),
        (_repeats(slot.hotkey for slot in state.neurons), "two neurons share a hotkey - at `neurons`"),
        (_repeats(row.hotkey for row in state.commitments), "two of one hotkey - at `commitments`"),
        (_repeats((row.mechid, row.uid) for row in state.weights), "two rows of one neuron - at `weights`"),
        (any(row.uid not in uids for row in state.weights), "a row of an unregistered uid - at `weights`"),
        (any(row.uid not in uids for row in state.commits), "a commit of an unregistered uid - at `commits`"),
        (any(row.mechid >= rules.mechanisms for row in state.weights), "no such mechanism - at `weights`"),
        (any(row.mechid >= rules.mechanisms for row in state.commits), "no such mechanism - at `commits`"),
        (any(_repeats(uid for uid, _ in row.targets) for row in state.weights), "a target twice - at `weights`"),
    )
    if text := next((text for broken, text in faults if broken), None):
        raise ChainStateError(f"{name}: {text}")


def _repeats(values: Iterable[Hashable]) -> bool:
    listed = list(values)
    return len(set(listed)) != len(listed)
