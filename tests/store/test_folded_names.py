"""Names that a folded round's documents repeat: short in the record, as they were once it is read."""

import msgspec
import pytest

from validator.protocol.canonical import sha256_hex
from validator.store.errors import DamagedError
from validator.store.folding.names import addresses
from validator.store.folding.record import folded, unfolded

TASK = "871c02ccf2ba9fa74dd7dcd3b9570dd8"
HOTKEY = "5ChiFZDPuZaiwB1Yv9LGYeQuEQw1dMacNPkktBBbSfYu1Qrb"
OTHER = "5HYYEMFvZdsi5jPwCQZLY5ZvqELr286LYGsi5ZYddpFjBtTR"
DOCUMENT = f'{{"by":"{HOTKEY}","task":"{TASK}"}}'.encode()
SHA256 = sha256_hex(DOCUMENT)


def rows(submission: str, seconds: float | None = None) -> dict[str, list[dict[str, object]]]:
    return {
        "sssas": [{"document": DOCUMENT, "sha256": SHA256}],
        "dispatches": [{"seconds": seconds, "sssa_sha256": SHA256, "submission": submission}],
    }


@pytest.mark.parametrize(
    "submission",
    [
        f'"{SHA256}"',
        f'"{SHA256}7"',  # digits may follow: a miner writes what it likes
        f'"{SHA256}{SHA256}{TASK}1{HOTKEY}{HOTKEY}2"',
        f'"{OTHER}, which nobody named, é, {TASK}-claim-1"',
        "",
    ],
)
def test_what_names_stand_in_comes_back(submission: str) -> None:
    given = rows(submission, 0.1)
    assert unfolded(folded(given, [TASK, HOTKEY])).rows() == given


def test_a_name_takes_a_few_bytes_however_often_it_is_there() -> None:
    submission = f"{TASK}{HOTKEY}{SHA256}" * 100
    assert len(folded(rows(submission), [TASK, HOTKEY])) < 1_500 < len(submission)


@pytest.mark.parametrize("seconds", [1.7211299188292883, 0.0, -0.0, 1e-7, 5e-324, 1.7976931348623157e308, None])
def test_numbers_come_back_to_the_bit(seconds: float | None) -> None:
    (row,) = unfolded(folded(rows("", seconds))).rows()["dispatches"]
    assert repr(row["seconds"]) == repr(seconds)


@pytest.mark.parametrize(
    "damaged",
    [
        ["dispatches", ["submission"], [["\x017\x01"]]],  # of which there is no name
        ["dispatches", ["submission"], [["\x010"]]],
        ["dispatches", ["seconds"], [["soon"]]],
        ["nobody", ["submission"], [[""]]],
    ],
)
def test_what_no_fold_wrote_is_refused(damaged: list[object]) -> None:
    with pytest.raises(DamagedError):
        unfolded(msgspec.msgpack.encode([2, [damaged], [TASK]]))


def test_what_holds_the_mark_itself_is_not_taken_for_a_place() -> None:
    with pytest.raises(DamagedError):
        unfolded(folded(rows("\x01")))


def test_addresses_of_an_input_are_found_once_each() -> None:
    document = f'{{"a":"{OTHER}","b":["{HOTKEY}","{OTHER}"],"c":"5short"}}'.encode()
    assert addresses(document) == [HOTKEY, OTHER]
