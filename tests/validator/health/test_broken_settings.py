"""Set-ups with one fault each, table-driven: `validator doctor` names fault and fix. Settings, wallet, tasks."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from doctor_kit import QUICK, Place, findings
from setups import (
    FILE_SETUPS,
    ONLY_2,
    both,
    key_file,
    other_hotkey,
    packed_tasks,
    seeded_tasks,
    uncurated_task,
    variable,
)

from validator.daemon.world import judging_workers
from validator.health.doctor import diagnose

TASKS = {
    "packed tasks": packed_tasks,
    "packed tasks under 2.0.0": both(
        packed_tasks, variable("VALIDATOR_SCORING__SCHEDULE", '{"1.0.0": 0, "2.0.0": 4000}')
    ),
    "uncurated tasks under 2.0.0": both(uncurated_task, ONLY_2),
    "seeded tasks under 2.0.0": both(seeded_tasks, ONLY_2),
}


@pytest.mark.parametrize(
    ("broken", "check", "status", "seen", "advice"),
    [
        ("typo", "settings", "fault", "did you mean `interval_s`?", "config/validator.toml shows every key"),
        ("no netuid", "settings", "fault", "validator.netuid: is required", "validator init"),
        ("one underscore", "settings", "fault", "did you mean VALIDATOR_STORE__URL?", "Correct what"),
        ("no section", "settings", "fault", "did you mean VALIDATOR_VALIDATOR__NETUID?", "Correct what"),
        ("stranger", "settings", "warning", "VALIDATOR_STORE_URI sets nothing", "unset it"),
        ("password in the open", "settings", "warning", "holds the database's password", "chmod 600"),
        ("token in the open", "settings", "warning", "holds the health port's token", "VALIDATOR_HEALTH__TOKEN_FILE"),
        ("no home", "wallet", "fault", "no home folder is known for ~nobody-of-this-name", "set wallet.path"),
        ("unknown version", "settings", "fault", "9.9.9", "install the one that does"),
        ("other hotkey", "wallet", "fault", "no such file", "set wallet.hotkey; in {folder}/wallets/default/hotkeys"),
        ("no wallets", "wallet", "fault", "no such file", "set wallet.path; no wallet is in {folder}/nowhere"),
        ("encrypted", "wallet", "fault", "encrypted", "a file of this user, mode 400"),
        ("open password", "wallet", "fault", "cannot be unlocked", "a file of this user, mode 400"),
        ("needless password", "wallet", "fault", "not encrypted", "or remove wallet.password_file"),
        ("damaged", "wallet", "fault", "damaged or no keyfile", "put the hotkey's file there again"),
        ("for everybody", "wallet", "warning", "mode 644: other users may use", "chmod 600 {folder}/wallets"),
        ("no folder", "tasks", "fault", "tasks.directory: `tasks` cannot be listed", "set tasks.directory"),
        (
            "broken task",
            "tasks",
            "warning",
            "1 broken in {folder}/tasks, the first: `bad`: ",
            "validator tasks check {folder}",
        ),
        ("junk for a bundle", "tasks", "warning", "the first: `junk`: ", "validator tasks check {folder}"),
        ("packed tasks", "tasks", "warning", "straight from `tasks pack`: 1 declarative, 1 mcp_server; ", "tasks seed"),
        (
            "packed tasks under 2.0.0",
            "tasks",
            "fault",
            "1 mcp_server, and scoring.schedule names 2.0.0; ",
            "tasks seed PACKED",
        ),
        (
            "uncurated tasks under 2.0.0",
            "tasks",
            "warning",
            "none has a truth that lists its faults, and scoring.schedule names 2.0.0",
            "keep some planted tasks",
        ),
        ("seeded tasks under 2.0.0", "tasks", "ok", "3 declarative in {folder}/tasks", ""),
        ("blank behind the url", "settings", "fault", "url without a blank at its end", "Correct what"),
        ("lower-case variable", "settings", "fault", "did you mean VALIDATOR_ROUNDS__INTERVAL_S?", "Correct what"),
        (
            "lower-case without section",
            "settings",
            "fault",
            "did you mean VALIDATOR_VALIDATOR__NETUID?",
            "Correct what",
        ),
        ("lower-case stranger", "settings", "warning", "validator_store_uri sets nothing", "unset it"),
        ("no tasks", "tasks", "warning", "none in {folder}/tasks; rounds have canaries alone", "validator tasks seed"),
        ("no tasks", "bases", "note", "canaries are made of built-in bundles", "set tasks.bases"),
        ("bad shape", "bases", "fault", "tasks.shapes: {folder}/own/mine.shape: severity: must be", "correct the file"),
        ("no tasks", "bases", "note", "no private shapes", "name their folder in tasks.shapes"),
        ("no bases", "bases", "fault", "tasks.bases: `bases` cannot be listed", "set tasks.bases"),
        (
            "bad base",
            "bases",
            "warning",
            "1 in {folder}/bases cannot be used, the first: `bad` is no benign task",
            "take it",
        ),
        (
            "bad base",
            "bases",
            "warning",
            "none of the types rag_knowledge, executable_python",
            "put a benign task of each",
        ),
        ("bad base", "bases", "ok", "1 declarative in {folder}/bases", ""),
    ],
)
async def test_each_fault_is_named_with_its_fix(  # noqa: PLR0913, PLR0917 - the columns of the table
    broken: str, check: str, status: str, seen: str, advice: str, place: Place
) -> None:
    {**FILE_SETUPS, **TASKS}[broken](place)
    found = findings(await place.examined(check))
    told = [one for one in found if one.status == status and seen.format(folder=place.folder) in one.seen]
    assert len(told) == 1, found
    assert advice.format(folder=place.folder) in told[0].advice
    assert "hunter2" not in str(found)
    assert [one for one in found if one.status == "fault"] == (told if status == "fault" else [])


async def test_the_alternatives_to_a_missing_hotkey_are_named(place: Place) -> None:
    other_hotkey(place)
    (fault,) = findings(await place.examined("wallet"))
    assert fault.advice.endswith("there is: second")


async def test_a_hotkey_that_cannot_be_read_in_time_holds_up_nothing(place: Place) -> None:
    key_file(place).unlink()
    os.mkfifo(key_file(place))
    try:
        examined = await place.examined("wallet", "settings", limits=QUICK._replace(wallet=0.2, whole=0.5))
    finally:
        for _ in range(2):  # what still reads it continues
            with suppress(OSError):  # nobody does any more
                os.close(os.open(key_file(place), os.O_WRONLY | os.O_NONBLOCK))
    (fault,) = [one for one in findings(examined) if one.status == "fault"]
    assert (fault.about, fault.seen) == ("wallet", "no end within 0.5 s")
    assert "the hotkey must be a plain file" in fault.advice
    assert examined.cut_off


async def test_no_settings_at_all_lead_to_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = findings(await diagnose(None, {}, judging_workers))
    assert [(one.about, one.status) for one in found] == [("settings", "fault"), ("all else", "unknown")]
    assert "`validator init` makes one" in found[0].seen
