"""Weights in the log of a store, read and verified; for the tests of the weights loop."""

from typing import NamedTuple

import msgspec
from audit_file import receipts
from msgspec import UNSET

from sssa.log.weight_vectors import Confirmed, Fates
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.receipt import FateLink, Owner, Receipt, WeightedMiner, WeightsDocument, WeightsLink, line
from validator.store import Store


class WeightsInLog(NamedTuple):
    """The log of a store.

    Attributes:
        vectors: what it says of each, by the number of its receipt.
        fates: of those that were sent, in their order.
        newest: what is confirmed last, by netuid and mechanism.
        kinds: of all receipts.
    """

    vectors: dict[int, tuple[WeightsLink, WeightsDocument]]
    fates: list[FateLink]
    newest: dict[tuple[int, int], Confirmed]
    kinds: list[str]

    def short(self) -> list[str]:
        """Each vector by why it is not sent, each fate by its state, in the order of the log."""
        return [word for word in self.kinds if word not in ("opening", "round", "closing")]


async def weights_in_log(store: Store) -> WeightsInLog:
    """Read the log, and hold that no receipt is missing, each follows the one before and each fate its vector."""
    found = await receipts(store)
    vectors, fates, words, checked = {}, [], [], Fates()
    previous: Receipt | None = None
    for number, receipt in enumerate(found):
        before = None if previous is None else sha256_hex(line("receipt", previous))
        assert (receipt.sequence, receipt.previous) == (number, before)
        checked.begin(number)
        words.append(_word(receipt))
        if receipt.weights is not UNSET:
            document = await _document(store, receipt)
            vectors[number] = receipt.weights, document
            checked.sent(number, receipt.weights, document)
        if receipt.fate is not UNSET:
            fates.append(receipt.fate)
            checked.add(number, receipt.fate)
        previous = receipt
    return WeightsInLog(vectors, fates, checked.newest, words)


def _word(receipt: Receipt) -> str:
    if receipt.fate is not UNSET:
        return receipt.fate.state
    return receipt.kind if receipt.weights is UNSET else receipt.weights.reason or "sent"


async def _document(store: Store, receipt: Receipt) -> WeightsDocument:
    assert receipt.weights is not UNSET
    async with store.read() as tx:
        data = await tx.weight_links.line(receipt.sequence)
    assert data is not None
    assert sha256_hex(data) == receipt.weights.sha256
    # Names of the small worlds are no hotkeys: the form is held elsewhere.
    plain = msgspec.json.decode(data)["weights"]
    assert canonical_bytes(plain) == data[len(b'{"weights":') : -1]
    return WeightsDocument(
        kinds=tuple(plain["kinds"]),
        round_id=plain["round_id"],
        next_round=plain["next_round"],
        since_round=plain["since_round"],
        owner=None if plain["owner"] is None else Owner(**plain["owner"]),
        miners=tuple(WeightedMiner(**one) for one in plain["miners"]),
        workflow_share=plain["workflow_share"],
        unallocated=plain["unallocated"],
        row=tuple((uid, value) for uid, value in plain["row"]),
    )
