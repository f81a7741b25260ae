"""What verifying found: counts, and what could not be checked yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from validator.protocol.receipt import RoundEndState


@dataclass(frozen=True, slots=True)
class Checked:
    """One round that holds. `pending`: the salt is not public, so its groups could not be drawn again."""

    state: RoundEndState
    tasks: int = 0
    answers: int = 0
    proofs: int = 0
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Verified:
    """A file that holds.

    Attributes:
        hotkey: whose log it is.
        first, last: numbers of the first and last receipt; from 0 the log is complete up to `last`.
        head: digest of the last receipt's line: two exports of one log agree on it.
        rounds: how many ended in which state.
        first_round, last_round: their ids, None without rounds.
        tasks, answers, proofs: how many were computed again.
        pending: rounds whose groups cannot be drawn again before their epoch's salt is public ("draw pending").
        reruns: counted results of reruns that the file shows to have been asked for (SPEC 15).
        reruns_before: counted results of answers from before the file, or forgotten since: the validator's word.
        filled: late qualities, each held against an answer that the file shows (SPEC 12).
        filled_before: late qualities of answers from before the file, or forgotten since: the validator's word.
        vectors: vectors that were computed, sent or not (SPEC 16, D-28).
        fates: how many submissions came to which state.
        fates_before: fates of vectors from before the file, or forgotten since: the validator's word.
    """

    hotkey: str
    first: int
    last: int
    head: str
    rounds: Mapping[str, int]
    first_round: int | None
    last_round: int | None
    tasks: int
    answers: int
    proofs: int
    pending: int
    reruns: int
    reruns_before: int
    filled: int
    filled_before: int
    vectors: int
    fates: Mapping[str, int]
    fates_before: int
