"""An audit file verified with nothing but itself (SPEC 4 to 10, 14): no store, no settings, no network."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from validator.audit.log.chain import Chain
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import START, LineReader, require_audit_file
from validator.audit.log.report import Verified
from validator.audit.log.rounds import check_round
from validator.audit.log.standing import Standing
from validator.audit.log.weights import Vectors
from validator.protocol.canonical import sha256_hex
from validator.protocol.limits import MAX_LOG_HOTKEYS, MAX_LOG_SALTS, MAX_RECEIPT
from validator.protocol.receipt import Receipt
from validator.protocol.strict_json import JsonError, decode

_PREFIX: Final = b'{"receipt":'
_SALTS: Final = b'"salts":[{'  # in canonical form; without it there is nothing to find


def verify_file(path: Path, hotkey: str | None = None, progress: Callable[[int], None] = lambda _: None) -> Verified:
    """Check everything that the file says, line by line; it is read twice, because salts come after their rounds.

    Args:
        path: the file.
        hotkey: whose log it must be, ss58; None for the one that its first receipt names.
        progress: told how many bytes are done, after each receipt.

    Raises:
        NotAnAuditFileError: the file is something else.
        FaultError: the first thing that does not hold, with its line.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        require_audit_file(file)
        salts = public_salts(file)
        file.seek(0)
        return _verify(LineReader(file), Chain(hotkey), salts, progress)


def public_salts(file: BinaryIO) -> Mapping[str, bytes]:
    """Return commitment to salt, of every salt in the file. Unchecked lines may say anything: a salt proves itself.

    Raises:
        FaultError: there are more than any log has.
    """
    found: dict[str, bytes] = {}
    number = 1
    while raw := file.readline(MAX_RECEIPT + 1):
        if len(found) > MAX_LOG_SALTS:
            raise FaultError(number, "receipt", None, f"more than {MAX_LOG_SALTS} salts in one file")
        number += raw.endswith(b"\n")
        if not raw.startswith(START) or _SALTS not in raw:
            continue
        try:
            receipt = decode(raw.rstrip()[len(_PREFIX) : -1], Receipt, limit=MAX_RECEIPT)
        except JsonError:
            continue
        for revealed in receipt.salts:
            salt = bytes.fromhex(revealed.salt)
            found[sha256_hex(salt)] = salt
    return found


def _verify(reader: LineReader, chain: Chain, salts: Mapping[str, bytes], progress: Callable[[int], None]) -> Verified:
    counted: Counter[str] = Counter()
    rounds: Counter[str] = Counter()
    first_round = last_round = None
    standing = Standing()
    vectors = Vectors(standing.pay, standing)
    while (found := reader.next("receipt", None)) is not None:
        if found.kind != "receipt":
            raise FaultError(
                found.number, found.kind, None, "no receipt names this line: repeated, out of order or added"
            )
        receipt = chain.add(found)
        standing.whole = standing.pay.whole = standing.whole or receipt.first_round == "0"
        vectors.add(reader, found, receipt, chain.next_round)
        if receipt.round is not None:
            if first_round is None:
                first_round = standing.reruns.since = standing.deferred.since = receipt.round.index
            checked = check_round(reader, receipt, receipt.round, salts.get(receipt.commitment or ""), standing)
            vectors.end(receipt.round.index, checked.told, receipt.validator_hotkey)
            rounds[checked.state] += 1
            counted.update(
                tasks=checked.tasks, answers=checked.answers, proofs=checked.proofs, pending=int(checked.pending)
            )
            if standing.known > MAX_LOG_HOTKEYS:
                raise FaultError(found.number, "receipt", None, f"more than {MAX_LOG_HOTKEYS} miners in one file")
            last_round = receipt.round.index
        progress(reader.offset)
    if chain.last is None or chain.last_digest is None or chain.first is None or chain.hotkey is None:
        raise FaultError(1, "receipt", None, "the file has no receipt")
    return Verified(
        hotkey=chain.hotkey,
        first=chain.first,
        last=chain.last.sequence,
        head=chain.last_digest,
        rounds=dict(sorted(rounds.items())),
        first_round=first_round,
        last_round=last_round,
        tasks=counted["tasks"],
        answers=counted["answers"],
        proofs=counted["proofs"],
        pending=counted["pending"],
        reruns=standing.reruns.held,
        reruns_before=standing.reruns.before,
        filled=standing.deferred.held,
        filled_before=standing.deferred.before,
        vectors=vectors.counted["told"],
        vectors_recomputed=vectors.counted["recomputed"],
        vectors_pending=vectors.waiting,
        scores_on_word=vectors.counted["scores"],
        reasons_on_word=vectors.counted["reasons"],
        left_out=vectors.counted["left_out"],
        fates=dict(sorted(vectors.fates.states.items())),
        fates_before=vectors.fates.before,
        confirmed=tuple(found for _, found in sorted(vectors.fates.newest.items())),
    )
