"""Set-ups with one fault each, table-driven: `validator doctor` names fault and fix. Settings, wallet, tasks."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from doctor_kit import QUICK, Place, findings
from setups import (
    Break,
    bad_base,
    bad_shape,
    blank_behind_the_url,
    broken_task,
    damaged,
    encrypted,
    for_everybody,
    junk_for_a_bundle,
    key_file,
    lower_case_stranger,
    lower_case_variable,
    lower_case_without_section,
    needless_password,
    no_bases,
    no_folder,
    no_home,
    no_netuid,
    no_section,
    no_wallets,
    nothing,
    one_underscore,
    open_password,
    other_hotkey,
    packed_tasks,
    packed_tasks_under_2,
    password_in_the_open,
    seeded_tasks_under_2,
    stranger,
    token_in_the_open,
    typo,
    uncurated_tasks_under_2,
    unknown_version,
)

from validator.daemon.world import judging_workers
from validator.health.doctor import diagnose


@pytest.mark.parametrize(
    ("broken", "check", "status", "seen", "advice"),
    [
        (typo, "settings", "fault", "did you mean `interval_s`?", "config/validator.toml shows every key"),
        (no_netuid, "settings", "fault", "validator.netuid: is required", "validator init"),
        (one_underscore, "settings", "fault", "did you mean VALIDATOR_STORE__URL?", "Correct what"),
        (no_section, "settings", "fault", "did you mean VALIDATOR_VALIDATOR__NETUID?", "Correct what"),
        (stranger, "settings", "warning", "VALIDATOR_STORE_URI sets nothing", "unset it"),
        (password_in_the_open, "settings", "warning", "holds the database's password", "chmod 600"),
        (token_in_the_open, "settings", "warning", "holds the health port's token", "VALIDATOR_HEALTH__TOKEN_FILE"),
        (no_home, "wallet", "fault", "no home folder is known for ~nobody-of-this-name", "set wallet.path"),
        (unknown_version, "settings", "fault", "9.9.9", "install the one that does"),
        (other_hotkey, "wallet", "fault", "no such file", "set wallet.hotkey; in {folder}/wallets/default/hotkeys"),
        (no_wallets, "wallet", "fault", "no such file", "set wallet.path; no wallet is in {folder}/nowhere"),
        (encrypted, "wallet", "fault", "encrypted", "a file of this user, mode 400"),
        (open_password, "wallet", "fault", "cannot be unlocked", "a file of this user, mode 400"),
        (needless_password, "wallet", "fault", "not encrypted", "or remove wallet.password_file"),
        (damaged, "wallet", "fault", "damaged or no keyfile", "put the hotkey's file there again"),
        (for_everybody, "wallet", "warning", "mode 644: other users may use", "chmod 600 {folder}/wallets"),
        (no_folder, "tasks", "fault", "tasks.directory: `tasks` cannot be listed", "set tasks.directory"),
        (
            broken_task,
            "tasks",
            "warning",
            "1 broken in {folder}/tasks, the first: `bad`: ",
            "validator tasks check {folder}",
        ),
        (junk_for_a_bundle, "tasks", "warning", "the first: `junk`: ", "validator tasks check {folder}"),
        (packed_tasks, "tasks", "warning", "straight from `tasks pack`: 1 declarative, 1 mcp_server; ", "tasks seed"),
        (
            packed_tasks_under_2,
            "tasks",
            "fault",
            "1 mcp_server, and scoring.schedule names 2.0.0; ",
            "tasks seed PACKED",
        ),
        (
            uncurated_tasks_under_2,
            "tasks",
            "warning",
            "none has a truth that lists its faults, and scoring.schedule names 2.0.0",
            "keep some planted tasks",
        ),
        (seeded_tasks_under_2, "tasks", "ok", "3 declarative in {folder}/tasks", ""),
        (blank_behind_the_url, "settings", "fault", "url without a blank at its end", "Correct what"),
        (lower_case_variable, "settings", "fault", "did you mean VALIDATOR_ROUNDS__INTERVAL_S?", "Correct what"),
        (lower_case_without_section, "settings", "fault", "did you mean VALIDATOR_VALIDATOR__NETUID?", "Correct what"),
        (lower_case_stranger, "settings", "warning", "validator_store_uri sets nothing", "unset it"),
        (nothing, "tasks", "warning", "none in {folder}/tasks; rounds have canaries alone", "validator tasks seed"),
        (nothing, "bases", "note", "canaries are made of built-in bundles", "set tasks.bases"),
        (bad_shape, "bases", "fault", "tasks.shapes: {folder}/own/mine.shape: severity: must be", "correct the file"),
        (nothing, "bases", "note", "no private shapes", "name their folder in tasks.shapes"),
        (no_bases, "bases", "fault", "tasks.bases: `bases` cannot be listed", "set tasks.bases"),
        (
            bad_base,
            "bases",
            "warning",
            "1 in {folder}/bases cannot be used, the first: `bad` is no benign task",
            "take it",
        ),
        (
            bad_base,
            "bases",
            "warning",
            "none of the types rag_knowledge, executable_python",
            "put a benign task of each",
        ),
        (bad_base, "bases", "ok", "1 declarative in {folder}/bases", ""),
    ],
    ids=lambda value: getattr(value, "__name__", None) or None,
)
async def test_each_fault_is_named_with_its_fix(  # noqa: PLR0913, PLR0917 - the columns of the table
    broken: Break, check: str, status: str, seen: str, advice: str, tmp_path: Path
) -> None:
    place = Place.made(tmp_path)
    broken(place)
    found = findings(await place.examined(check))
    told = [one for one in found if one.status == status and seen.format(folder=tmp_path) in one.seen]
    assert len(told) == 1, found
    assert advice.format(folder=tmp_path) in told[0].advice
    assert "hunter2" not in str(found)
    assert [one for one in found if one.status == "fault"] == (told if status == "fault" else [])


async def test_the_alternatives_to_a_missing_hotkey_are_named(tmp_path: Path) -> None:
    place = Place.made(tmp_path)
    other_hotkey(place)
    (fault,) = findings(await place.examined("wallet"))
    assert fault.advice.endswith("there is: second")


async def test_a_hotkey_that_cannot_be_read_in_time_holds_up_nothing(tmp_path: Path) -> None:
    place = Place.made(tmp_path)
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
