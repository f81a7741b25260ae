"""`validator waiting …` against a real store with checks in every state."""

import json
from pathlib import Path

import pytest
from cli_store import called, validator
from explained import HOTKEYS
from explained_pages import make_store
from planned import GOOD, GREEDY, SHAKY, SLOW


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store("judged", tmp_path_factory.mktemp("checks"))


def listed(config: Path, *more: str) -> dict[str, dict[str, object]]:
    """Return the list's entries of round 1, by hotkey."""
    done = called("waiting", "list", "--json", *more, "--config", str(config))
    assert (done.returncode, done.stderr) == (0, "")
    return {one["hotkey"]: one for one in json.loads(done.stdout)["code_checks"]["listed"]}


def test_the_list(config: Path) -> None:
    done = validator("waiting", "list", "--config", str(config))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["executions: none", "code checks: done 1, inconclusive 1, pending 1, running 1"]
    (judged,) = [line for line in lines if HOTKEYS[GOOD] in line]
    assert judged.split()[2:] == ["done", "1", "3", "of", "4", "2", "0.8862", "quality_judged", "2"]
    found = listed(config)
    assert found[HOTKEYS[GOOD]]["report"] == {"passed": 3, "total": 4, "findings": 2}
    assert found[HOTKEYS[SHAKY]]["meaning"] == "The container engine cannot be reached."
    assert set(listed(config, "--state", "inconclusive")) == {HOTKEYS[SLOW]}
    assert len(listed(config, "--limit", "2")) == 2


def test_one_check(config: Path) -> None:
    found = listed(config)
    pages = {
        number: called("waiting", "show", str(found[HOTKEYS[number]]["check_id"]), "--config", str(config)).stdout
        for number in (GOOD, SHAKY, SLOW, GREEDY)
    }
    assert "entered its window with round 2: 0.8862" in pages[GOOD]
    assert f"validator explain {HOTKEYS[GOOD]} --round 1" in " ".join(pages[GOOD].split())
    assert "tried once; the next try is not before 2026-01-01T01:00:40Z" in pages[SHAKY]
    assert r"no socket\u001b[31m" in pages[SHAKY]
    assert "sandbox_tests: The task's tests hold no test that can be run" in pages[SLOW]
    assert "tried once; running since 2026-01-01T00:00:40Z" in pages[GREEDY]
    one = str(found[HOTKEYS[GOOD]]["check_id"])
    assert json.loads(called("waiting", "show", one, "--json", "--config", str(config)).stdout)["entered_in"] == 2


@pytest.mark.parametrize("wrong", ["0", "", "\x1b[31m"])
def test_what_is_no_check(config: Path, wrong: str) -> None:
    for command in ("show", "retry"):
        done = called("waiting", command, wrong, "--config", str(config))
        assert (done.returncode, done.stdout) == (1, "")
        assert "no execution and no code check has this id" in done.stderr
        assert "\x1b" not in done.stderr


def test_what_waits_or_was_inconclusive_can_be_tried_again(config: Path) -> None:
    found = listed(config)
    for number, code in ((SLOW, 0), (SHAKY, 0), (GOOD, 1), (GREEDY, 1)):
        done = called("waiting", "retry", str(found[HOTKEYS[number]]["check_id"]), "--config", str(config))
        assert done.returncode == code, done.stderr
    again = listed(config)
    assert {again[HOTKEYS[number]]["state"] for number in (SLOW, SHAKY)} == {"pending"}
    assert again[HOTKEYS[SLOW]]["attempts"] == 0
    assert str(again[HOTKEYS[SHAKY]]["due_at"]) > "2026-11"
    assert again[HOTKEYS[GOOD]] == found[HOTKEYS[GOOD]]
