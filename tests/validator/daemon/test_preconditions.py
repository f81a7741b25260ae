"""The first look at the chain, on virtual time."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec
import pytest
import structlog
from pump import pumped

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot, Neuron
from sssa.sources import VirtualClock
from validator.chain.interface import (
    Chain,
    ChainError,
    ChainUnreachableError,
    NoSubnetError,
    NotRegisteredError,
    SubnetParameters,
)
from validator.chain.runtime_rules import preconditions
from validator.daemon.start import START_S, check_start
from validator.settings.model import ChainSettings, Settings, ValidatorSettings
from validator.settings.urls import SecretUrl
from validator.store import Store
from validator.store.errors import OtherStoreError
from validator.telemetry import Event

ME, OWNER = "Validator", "Owner"
SETTINGS = Settings(
    validator=ValidatorSettings(netuid=1),
    chain=ChainSettings(endpoints=(SecretUrl("wss://user:hunter2@node.example:443/key"), SecretUrl("finney"))),
)
PARAMETERS = SubnetParameters(
    tempo=360, weights_rate_limit=100, min_stake_tao=50.0, version_key=3, commit_reveal=False, mechanisms=2
)
NEURON = Neuron(ME, 4, 60.0, True, None, 0)


class Broken(SimulatedChain):
    """A chain that answers with what it is given."""

    def __init__(self, subnet: SimulatedSubnet, answer: Coroutine[Any, Any, MetagraphSnapshot]) -> None:
        super().__init__(subnet, ME)
        self._answer = answer

    async def snapshot(self) -> MetagraphSnapshot:
        return await self._answer


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def subnet(clock: VirtualClock) -> SimulatedSubnet:
    rules = SubnetRules(seed="p", genesis=int(clock.now().timestamp()), min_stake_tao=50.0)
    return SimulatedSubnet.create(rules, clock)


async def looked(chain: Chain, clock: VirtualClock) -> float:
    """Run the check; return after how long it was done."""
    await pumped(clock, check_start(chain, clock, SETTINGS, ME), step_s=1.0)
    return clock.monotonic()


async def raising(error: Exception) -> MetagraphSnapshot:
    raise error


async def silence() -> MetagraphSnapshot:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (lambda: raising(ChainUnreachableError("refused")), ChainUnreachableError, "refused"),
        (lambda: raising(ChainError("no metadata\x1b[31m")), ChainUnreachableError, "no usable answer: no metadata"),
        (silence, ChainUnreachableError, f"finney: no answer within {START_S:g} s"),
        (lambda: raising(NoSubnetError("whatever")), NoSubnetError, "netuid 1 at"),
    ],
)
async def test_a_chain_that_cannot_be_used_is_one_line_without_secrets(
    answer: Any, kind: type[ChainError], text: str, subnet: SimulatedSubnet, clock: VirtualClock
) -> None:
    with pytest.raises(kind) as raised:
        await looked(Broken(subnet, answer()), clock)
    message = str(raised.value)
    assert text in message
    assert "wss://***@node.example:443/***, finney" in message
    assert "chain.endpoints" in message
    assert "hunter2" not in message
    assert message.isprintable()
    assert clock.monotonic() <= START_S + 1


async def test_a_hotkey_without_a_slot_is_refused(subnet: SimulatedSubnet, clock: VirtualClock) -> None:
    with pytest.raises(NotRegisteredError, match=r"Validator on netuid 1 at .*; register it"):
        await looked(SimulatedChain(subnet, ME), clock)


async def test_a_start_binds_a_new_store_to_its_chain_and_another_chain_is_refused_then(
    subnet: SimulatedSubnet, clock: VirtualClock, store: Store
) -> None:
    other = SimulatedSubnet.create(msgspec.structs.replace(subnet.rules, seed="other"), clock)
    for one in (subnet, other):
        one.register(ME)
    for _ in range(2):
        await check_start(SimulatedChain(subnet, ME), clock, SETTINGS, ME, store)
    with pytest.raises(OtherStoreError, match=subnet.blocks.identity):
        await check_start(SimulatedChain(other, ME), clock, SETTINGS, ME, store)
    async with store.read() as tx:
        known = await tx.chain.get()
    assert known is not None
    assert (known.genesis, known.netuid) == (subnet.blocks.identity, 1)


async def test_what_only_keeps_weights_back_is_told_and_does_not_stop(
    subnet: SimulatedSubnet, clock: VirtualClock
) -> None:
    subnet.register(ME, stake_tao=1.0)
    with structlog.testing.capture_logs() as log:
        await looked(SimulatedChain(subnet, ME), clock)
    assert {line["event"] for line in log} == {Event.PRECONDITION}
    assert len({line["name"] for line in log}) == len(log) == 9
    assert {line["name"]: line.get("reason") for line in log if line["log_level"] == "warning"} == {
        "permit": "weights_no_permit",
        "stake": "weights_low_stake",
    }  # the rate limit is over by itself


@pytest.mark.parametrize(
    ("me", "parameters", "mechid", "block", "reasons"),
    [
        ({}, {}, 0, 100, {}),
        ({"validator_permit": False}, {}, 0, 100, {"permit": Reason.WEIGHTS_NO_PERMIT}),
        ({"hotkey": OWNER, "validator_permit": False, "stake_tao": 0.0}, {}, 0, 100, {}),
        (
            {"hotkey": OWNER, "validator_permit": False, "stake_tao": 0.0},
            {"owner_exempt": False},
            0,
            100,
            {"permit": Reason.WEIGHTS_NO_PERMIT, "stake": Reason.WEIGHTS_LOW_STAKE},
        ),
        ({"stake_tao": 49.0}, {}, 0, 100, {"stake": Reason.WEIGHTS_LOW_STAKE}),
        ({}, {}, 2, 100, {"mechanism": Reason.WEIGHTS_REJECTED}),
        ({}, {}, 1, 99, {"rate_limit": Reason.WEIGHTS_RATE_LIMITED}),
        ({}, {"commit_reveal": True, "version_key": 9}, 1, 100, {}),
        ({}, {"takes_commitments": False}, 1, 100, {}),
        (
            {},
            {"commit_reveal": True, "takes_commitments": False},
            1,
            100,
            {"commit_reveal": Reason.WEIGHTS_REJECTED},
        ),
    ],
)
def test_each_precondition_has_its_reason(
    me: Mapping[str, Any], parameters: Mapping[str, Any], mechid: int, block: int, reasons: Mapping[str, Reason]
) -> None:
    neuron = msgspec.structs.replace(NEURON, **me)
    snapshot = MetagraphSnapshot(1, block, "00" * 32, 0, 0, 360, OWNER, (neuron,))
    found = list(preconditions(snapshot, PARAMETERS._replace(**parameters), neuron, mechid))
    assert {rule.name: rule.reason for rule, verdict in found if verdict.refused} == reasons
    assert all(verdict.detail for _, verdict in found)
    assert all(verdict.advice for _, verdict in found if verdict.refused)
