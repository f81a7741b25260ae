"""Interpretation of a real node's answers to sudo calls."""

from types import SimpleNamespace
from typing import Any

import bittensor as bt
import pytest
from sudo_calls import BLOCKS, refusal, submit, sudo

FROZEN = "AdminActionProhibitedDuringWeightsWindow"
SET_TEMPO = bt.calls.AdminUtils.sudo_set_tempo(netuid=2, tempo=60)


def sudid(result: Any) -> dict[str, Any]:
    return {
        "extrinsic_idx": 1,
        "event": {"module_id": "Sudo", "event_id": "Sudid", "attributes": {"sudo_result": result}},
    }


def taken(*events: dict[str, Any]) -> Any:
    return bt.ExtrinsicResult(success=True, message="Success", events=list(events))


class Chain:
    """As much of a client as a call needs; admin calls pass in one block of ten."""

    def __init__(self, *, opens: int | None, knows: bool = True, quiet: bool = False) -> None:
        self.number = 103
        self.opens = opens
        self.knows = knows
        self.quiet = quiet  # it says that the extrinsic succeeded, as the runtime does
        self.tried: list[int] = []

    async def block(self) -> int:
        return self.number

    async def wait_for_block(self, number: int) -> None:
        self.number = max(self.number, number)

    async def compose(self, call: Any) -> Any:
        if not self.knows:
            raise ValueError(f"Call '{call.function}' not found in registry")
        return call

    async def submit_call(self, call: Any, signer: Any, *, wait_for_finalization: bool) -> Any:
        assert (call.module, call.function, wait_for_finalization) == ("Sudo", "sudo", False)
        assert signer.ss58_address == "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
        self.number += 1
        self.tried.append(self.number)
        if self.number % 10 == self.opens:
            return taken(sudid({"Ok": ()}))
        if self.quiet:
            return taken(sudid({"Err": {"Module": {"index": 19, "error": "0x2a000000"}}}))
        return bt.ExtrinsicResult(success=False, message="no admin calls now", error=bt.ChainError("no", FROZEN))


@pytest.mark.parametrize("opens", range(10))
@pytest.mark.parametrize("quiet", [False, True])
async def test_a_call_passes_in_the_one_block_of_ten_that_is_outside_the_freeze_window(opens: int, quiet: bool) -> None:
    chain: Any = Chain(opens=opens, quiet=quiet)
    await sudo(chain, SET_TEMPO, required=True)
    assert chain.tried[-1] % 10 == opens
    assert [block for block in chain.tried if block % 10 == opens] == chain.tried[-1:]


@pytest.mark.parametrize("required", [False, True])
async def test_what_the_chain_refuses_to_the_last_fails_with_its_name(required: bool) -> None:
    chain: Any = Chain(opens=None)
    with pytest.raises(AssertionError, match=f"sudo_set_tempo: {FROZEN}: no admin calls now, [0-9]+ times"):
        await sudo(chain, SET_TEMPO, required=required)
    assert chain.tried[-1] >= 103 + BLOCKS - 3


async def test_a_call_that_the_runtime_does_not_have_is_left_out_unless_it_is_needed() -> None:
    chain: Any = Chain(opens=0, knows=False)
    await sudo(chain, SET_TEMPO, required=False)
    with pytest.raises(AssertionError, match="this runtime has no sudo_set_tempo"):
        await sudo(chain, SET_TEMPO, required=True)
    assert chain.tried == []


async def test_a_call_is_tried_once_even_where_time_is_up() -> None:
    chain: Any = Chain(opens=4)
    await submit(chain, bt.calls.Sudo.sudo(call=SET_TEMPO))
    assert chain.tried == [104]


def test_the_result_inside_a_sudo_call_counts() -> None:
    assert refusal(taken()) is None
    assert refusal(taken(sudid({"Ok": ()}))) is None
    assert refusal(taken(sudid("Ok"))) is None
    other = {"event": {"module_id": "System", "event_id": "ExtrinsicSuccess", "attributes": {}}}
    assert refusal(taken(other, sudid({"Err": "BadOrigin"}))) == "the call inside: BadOrigin"
    assert refusal(SimpleNamespace(success=False, message="Invalid Transaction", error=None)) == "Invalid Transaction"
