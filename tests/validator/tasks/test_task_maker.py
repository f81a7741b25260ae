"""Without the one task maker of the validator's version: who says so, and what works all the same."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from doctor_kit import Place, findings

from sssa.sources import SystemRandom
from taskmaker.canary import MAKER
from validator import __version__
from validator.daemon.assembly import assembled
from validator.daemon.world import build_world
from validator.settings.load import load_settings
from validator.tasks.task_maker import NoTaskMakerError, canaries_of, task_maker

OTHER = "0.9.0"
UNUSABLE = {
    "none": ((), f"of version {__version__}; installed: none"),
    "two": ((__version__, OTHER), f"of version {__version__}; installed: {__version__}, {OTHER}"),
    "another version": ((OTHER,), f"is of version {OTHER}, the validator of {__version__}"),
}


def install(monkeypatch: pytest.MonkeyPatch, *versions: str) -> None:
    makers = [SimpleNamespace(dist=SimpleNamespace(version=one), load=lambda: MAKER) for one in versions]
    monkeypatch.setattr("validator.tasks.task_maker.entry_points", lambda *, group: makers if group else ())


def test_the_one_that_is_installed_is_found() -> None:
    assert task_maker() is MAKER


@pytest.mark.parametrize(("versions", "fault"), UNUSABLE.values(), ids=UNUSABLE)
async def test_without_it_rounds_have_no_canaries_and_both_daemon_and_doctor_say_so(
    versions: tuple[str, ...], fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = Place.made(tmp_path)
    place.subnet()
    settings = load_settings(place.write(), place.environ)
    install(monkeypatch, *versions)
    world = build_world(settings)
    assert world.canary is None
    async with assembled(settings, world) as daemon:
        (active,) = [one for one in daemon.board.active() if one.condition.name == "canaries_unavailable"]
    assert fault in active.detail
    (found,) = findings(await place.examined("bases"))
    assert (found.status, found.condition) == ("warning", "canaries_unavailable")
    assert fault in found.seen


async def test_where_pay_rests_on_planted_tasks_there_is_no_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = Place.made(tmp_path)
    place.subnet()
    place.settings["scoring.schedule"] = {'"1.0.0"': 0, '"2.0.0"': 100}
    settings = load_settings(place.write(), place.environ)
    install(monkeypatch)
    with pytest.raises(NoTaskMakerError, match="installed: none"):
        build_world(settings)
    (found,) = findings(await place.examined("bases"))
    assert found.status == "fault"


def test_settings_without_canaries_ask_for_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = Place.made(tmp_path)
    place.settings["tasks"]["canaries"] = False
    settings = load_settings(place.write(), place.environ)
    install(monkeypatch)
    assert canaries_of(settings.tasks, SystemRandom()) is None
    assert build_world(settings).canary_fault == ""
