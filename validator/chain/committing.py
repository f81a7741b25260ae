"""Commitments on a subtensor: the call that makes one, and what its storage item says."""

from typing import Any, Final

import bittensor as bt

from validator.chain.base import Commitment, MissingError
from validator.chain.node import Node, is_missing
from validator.chain.submission import Execute, OneSignature

_RAW: Final = "Raw"


def commitment_call(netuid: int, content: bytes, period: int) -> Execute:
    """Return what submits `content` as one plain field. The fee, if the chain takes one, is the coldkey's.

    Args:
        netuid: the subnet.
        content: 1 to 128 bytes.
        period: era, blocks.
    """

    async def execute(client: bt.Client, once: OneSignature) -> Any:
        field = {f"{_RAW}{len(content)}": content}
        call = bt.calls.Commitments.set_commitment(netuid=netuid, info={"fields": [field]})
        policy = bt.Policy(max_spend_tao=0, allowed_netuids=[netuid], allow_raw_calls=True)
        try:
            return await client.submit_call(call, once, signer="hotkey", policy=policy, period=period)
        except ValueError as error:
            if once.used or not is_missing(error):
                raise
            raise MissingError("set_commitment: the runtime has no such call") from None

    return execute


async def commitment_of(node: Node, netuid: int, hotkey: str) -> Commitment | None:
    """Return what `hotkey` has committed to on the subnet, None if nothing."""
    record = await node.query("Commitments", "CommitmentOf", [netuid, hotkey])
    if not record:
        return None
    fields = list((record.get("info") or {}).get("fields") or ())
    return Commitment(int(record["block"]), _plain(fields))


def _plain(fields: list[Any]) -> bytes | None:
    """Return the bytes of the one plain field; None where there is anything else."""
    if len(fields) != 1 or not isinstance(fields[0], dict) or len(fields[0]) != 1:
        return None
    ((variant, value),) = fields[0].items()
    if not str(variant).startswith(_RAW) or not isinstance(value, str):
        return None
    return bytes.fromhex(value.removeprefix("0x"))
