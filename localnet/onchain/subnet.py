"""Calls of //Alice that make a subnet on a development chain ready for the local network: settings, slots, stake.

`activate` and `register` look first whether it is done; `set_all` and `stake` repeat it. Called by `bring_up.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import bittensor as bt

from localnet.onchain.alice import Alice, CallRefusedError, NoSuchCallError
from localnet.onchain.options import rate_limit
from validator.chain.interface import ChainError, NoSubnetError

STAKE_TAO: Final = 1_000
_RAO: Final = 10**9
_ADMIN: Final = bt.calls.AdminUtils
_MODULE: Final = bt.calls.SubtensorModule


class UnreadySubnetError(ChainError):
    """The subnet is not as it was set."""


class Knob(NamedTuple):
    """One thing that root sets.

    Attributes:
        call: what is called.
        why: what it is for.
        required: whether it goes no further without; the others are missing or refused on some runtimes, and what
            they are for is checked by what follows.
    """

    call: Any
    why: str
    required: bool = False

    def __str__(self) -> str:
        """Return the call as it is shown: name and values."""
        given = ", ".join(f"{name} {value}" for name, value in self.call.params.items() if name != "netuid")
        return f"{self.call.function.removeprefix('sudo_')} ({given})"


def chain_knobs() -> tuple[Knob, ...]:
    """Return the calls that set values of the whole chain, before the subnet is made; none is sent."""
    return (
        Knob(_ADMIN.sudo_set_network_rate_limit(rate_limit=0), "a subnet may be made at once"),
        Knob(_ADMIN.sudo_set_admin_freeze_window(window=0), "settings may change in every block of an epoch"),
        Knob(_ADMIN.sudo_set_owner_hparam_rate_limit(epochs=0), "and as often as needed"),
        Knob(_ADMIN.sudo_set_start_call_delay(delay=0), "the subnet may be started at once"),
        Knob(_ADMIN.sudo_set_tx_rate_limit(tx_rate_limit=0), "one key sends all of this"),
        Knob(_ADMIN.sudo_set_stake_threshold(min_stake=0), "no least stake for weights"),
    )


def subnet_knobs(netuid: int, tempo: int) -> tuple[Knob, ...]:
    """Return the calls that set values of the subnet; none is sent."""
    registering: Mapping[str, int] = {"netuid": netuid}
    return (
        Knob(_ADMIN.sudo_set_tempo(netuid=netuid, tempo=tempo), "an epoch long enough for rounds", required=True),
        Knob(
            _ADMIN.sudo_set_commit_reveal_weights_enabled(netuid=netuid, enabled=False),
            "weights show at once: revealing needs a randomness beacon on the internet",
            required=True,
        ),
        Knob(
            _ADMIN.sudo_set_weights_set_rate_limit(netuid=netuid, weights_set_rate_limit=rate_limit(tempo)),
            "every epoch's weights pass",
            required=True,
        ),
        Knob(_ADMIN.sudo_set_min_allowed_weights(**registering, min_allowed_weights=1), "a short vector is one, too"),
        Knob(_ADMIN.sudo_set_weights_version_key(**registering, weights_version_key=0), "any version may send"),
        Knob(_ADMIN.sudo_set_network_registration_allowed(**registering, registration_allowed=True), "slots are given"),
        Knob(_ADMIN.sudo_set_max_registrations_per_block(**registering, max_registrations_per_block=10), "quickly"),
        Knob(
            _ADMIN.sudo_set_target_registrations_per_interval(**registering, target_registrations_per_interval=100),
            "and to all of them",
        ),
        Knob(_ADMIN.sudo_set_serving_rate_limit(**registering, serving_rate_limit=0), "axons may change at once"),
    )


async def set_all(alice: Alice, knobs: Sequence[Knob]) -> Sequence[str]:
    """Set them as root and return, a line each, which this runtime lacks or refused although tried again.

    Raises:
        CallRefusedError: one that is required; named by the inner call's error.
        NoSuchCallError: the runtime does not have one that is required.
    """
    refused = []
    for knob in knobs:
        try:
            await alice.root(knob.call)
        except (CallRefusedError, NoSuchCallError) as error:
            if knob.required:
                raise
            refused.append(str(error))
    return refused


async def find_or_make(alice: Alice, netuid: int | None, owner: str) -> int:
    """Return the subnet's number; None makes one whose owner's hotkey is `owner`.

    Raises:
        NoSubnetError: there is no subnet of that number.
        ChainError: the chain made none.
    """
    before = await alice.netuids()
    if netuid is not None:
        if netuid not in before or netuid == 0:
            raise NoSubnetError(f"netuid {netuid} at {alice.place}; leave --netuid away, and one is made")
        return netuid
    await alice.call(_MODULE.register_network(hotkey=owner))
    made = await alice.netuids() - before
    if len(made) != 1:
        raise ChainError(f"one subnet was asked for, and {len(made)} are new")
    return made.pop()


async def activate(alice: Alice, netuid: int) -> None:
    """Start the subnet where the runtime asks its owner to; root opens trade in its token where the call is missing."""
    if await alice.query("SubtensorModule", "FirstEmissionBlockNumber", netuid) is not None:
        return
    try:
        await alice.call(_MODULE.start_call(netuid=netuid))
    except ChainError:
        await alice.root(_ADMIN.sudo_set_subtoken_enabled(netuid=netuid, subtoken_enabled=True))


async def register(alice: Alice, netuid: int, hotkey: str) -> None:
    """Give a hotkey a slot, paid by //Alice, unless it has one."""
    if await alice.query("SubtensorModule", "Uids", netuid, hotkey) is None:
        await alice.call(_MODULE.burned_register(netuid=netuid, hotkey=hotkey))


async def stake(alice: Alice, netuid: int, hotkey: str) -> None:
    """Stake 1,000 TAO of //Alice's on a hotkey."""
    await alice.call(_MODULE.add_stake(hotkey=hotkey, netuid=netuid, amount_staked=STAKE_TAO * _RAO))


async def require_ready(alice: Alice, netuid: int, tempo: int) -> None:
    """Read back what rounds and weights depend on.

    Raises:
        UnreadySubnetError: naming what the chain has instead.
    """
    wanted = {
        "Tempo": tempo,
        "CommitRevealWeightsEnabled": False,
        "WeightsSetRateLimit": rate_limit(tempo),
    }
    current = {name: await alice.query("SubtensorModule", name, netuid) for name in wanted}
    wrong = [f"{name} is {current[name]}, not {value}" for name, value in wanted.items() if current[name] != value]
    if wrong:
        raise UnreadySubnetError(f"netuid {netuid}: {'; '.join(wrong)}")


def explained(netuid: int | None, tempo: int, miners: int) -> Iterator[str]:
    """Yield what will be done on the chain, a line for each call."""
    for knob in chain_knobs():
        yield f"as root: {knob}: {knob.why}"
    if netuid is None:
        yield "as //Alice: register_network: a new subnet"
    for knob in subnet_knobs(netuid or 0, tempo):
        yield f"as root: {knob}: {knob.why}"
    yield "as //Alice: start_call, where the subnet is not active"
    yield f"as //Alice: burned_register for the validator and {miners} miners, and the slots are paid"
    yield f"as //Alice: add_stake ({STAKE_TAO} TAO) on the validator: permits follow stake"
    yield "as each miner: serve_axon: where it listens"
