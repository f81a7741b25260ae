"""Secret draws that can be checked afterwards (SPEC 8, D-8): groups, canaries and markers come from them."""

import hashlib
import hmac
from collections.abc import Callable
from typing import Final, Literal

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType

Label = Literal["rank", "auditor", "rerun"]
NONCE_BYTES: Final = 32  # of a task
_BLOCK: Final = 64
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))


def round_seed(epoch_salt: bytes, round_id: str, block_hash: str) -> bytes:
    """Return the round's seed; `block_hash` in lower-case hex without 0x."""
    return _hmac(epoch_salt, f"{round_id}|{block_hash}")


def draw(seed: bytes, label: Label, round_id: str, task_id: str, hotkey: str) -> bytes:
    """Return 32 bytes to be compared as bytes."""
    return _hmac(seed, f"{label}|{round_id}|{task_id}|{hotkey}")


def draws_of(seed: bytes, label: Label, round_id: str, task_id: str) -> Callable[[str], bytes]:
    """Return what gives `draw` of a hotkey: what a task's draws share is hashed once.

    The two states are those of HMAC (RFC 2104); copies of them cost a third of an HMAC from its key.
    """
    key = (seed if len(seed) <= _BLOCK else hashlib.sha256(seed).digest()).ljust(_BLOCK, b"\0")
    inner = hashlib.sha256(key.translate(_INNER) + f"{label}|{round_id}|{task_id}|".encode())
    outer = hashlib.sha256(key.translate(_OUTER))

    def draw_of(hotkey: str) -> bytes:
        message, whole = inner.copy(), outer.copy()
        message.update(hotkey.encode())
        whole.update(message.digest())
        return whole.digest()

    return draw_of


def task_draw(epoch_salt: bytes, epoch: int, source_sha256: str) -> bytes:
    """Return what decides between tasks that were given equally often, smallest first (SPEC 16, D-29).

    Args:
        epoch_salt: raw, secret while in use.
        epoch: that the round is in.
        source_sha256: lower-case hex, of the source bundle or of the workflow task's canonical bytes.
    """
    return _hmac(epoch_salt, f"task|{epoch}|{source_sha256}")


def canary_types(epoch_salt: bytes, round_id: str, most: int) -> tuple[SkillType, ...]:
    """Return the types of which a round holds a canary: those with the smallest draws (SPEC 16, D-33; 17, D-36)."""
    drawn = {kind: _hmac(epoch_salt, f"canary|{round_id}|{kind}") for kind in ASSESSED_TYPES}
    return tuple(sorted(drawn, key=drawn.__getitem__)[:most])


def salt_commitment(salt: bytes) -> str:
    """Return the hex sha256 that binds the validator to `salt` before it is used."""
    return hashlib.sha256(salt).hexdigest()


def task_id(round_id: str, skill_type: str, slot: int, source_sha256: str) -> str:
    """Return a task's id: 32 hex that follow from its place in the round and its source bundle (SPEC, words)."""
    return hashlib.sha256(f"{round_id}|{skill_type}|{slot}|{source_sha256}".encode()).hexdigest()[:32]


def dispatch_id(round_id: str, position: int, rank: int) -> str:
    """Return the id of what follows from one dispatch: ids sort as rounds, tasks in plan order, members in group order.

    Args:
        round_id: decimal.
        position: of the task in the round's plan.
        rank: of the member in the task's group, primaries first.
    """
    return f"{int(round_id):016d}-{position:03d}-{rank:02d}"


def _hmac(key: bytes, message: str) -> bytes:
    return hmac.digest(key, message.encode(), hashlib.sha256)
