"""Calls as //Alice and as root on a real node: tried again while the chain says wait, and failed with its own words.

A sudo extrinsic succeeds whatever became of the call inside it; what did is in the event Sudo::Sudid.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import bittensor as bt

from sssa.protocol.signatures import Signer

ALICE: Final = Signer.from_uri("//Alice").keypair
BLOCKS: Final = (
    60  # for so many a call is tried again: the chain's rate limits, and the freeze window before an epoch's end
)


async def sudo(client: bt.Client, call: Any, *, required: bool) -> None:
    """Call as root.

    Raises:
        AssertionError: it was refused to the last, or is required and the runtime has no such call.
    """
    try:
        inner = await cast("Any", client).compose(call)
    except (bt.BittensorError, LookupError, ValueError):
        assert not required, f"this runtime has no {call.function}"
        return
    await submit(client, bt.calls.Sudo.sudo(call=inner), call.function)


async def submit(client: bt.Client, call: Any, name: str = "") -> None:
    """Submit, block after block until it is taken (AssertionError: never)."""
    until, tries, refused = await client.block() + BLOCKS, 0, ""
    while not tries or await client.block() < until:
        result = await client.submit_call(call, ALICE, wait_for_finalization=False)
        found = refusal(result)
        if found is None:
            return
        refused, tries = found, tries + 1
        # Not always as many blocks apart: a window that is open in one block of ten would be missed for ever.
        await client.wait_for_block(await client.block() + 1 + tries % 3)
    raise AssertionError(f"{name or call.function}: {refused}, {tries} times; is //Alice the sudo key?")


def refusal(result: Any) -> str | None:
    """Return why a call was refused, the inner call of a sudo too; None if it was not."""
    if not result.success:
        name = result.error.name if result.error is not None else ""
        return f"{name}: {result.message}" if name else str(result.message)
    for record in result.events:
        event = record.get("event", record)
        if (event["module_id"], event["event_id"]) != ("Sudo", "Sudid"):
            continue
        attributes = event["attributes"]
        inner = attributes.get("sudo_result") if isinstance(attributes, Mapping) else attributes
        if isinstance(inner, Mapping) and "Err" in inner:
            return f"the call inside: {inner['Err']}"
    return None
