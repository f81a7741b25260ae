"""Availability of executions for a local network on this machine, with the reason if there are none."""

import socket
from pathlib import Path

import pytest
from engine_kit import NOTHING, Registry, left_behind

from localnet.executions import local_engine
from localnet.executions.local_engine import NO_ENGINE, NOT_WANTED, engine_address, local_executions
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_run import CodeReport
from validator.sandbox.code_containers import TRIAL, ContainerCodeSandbox
from validator.sandbox.engine import Engine
from validator.sandbox.interface import CodeJob
from validator.settings.load import load_settings
from validator.settings.model import SandboxSettings, Settings

SCRIPT = SkillType.EXECUTABLE_SCRIPT


def settings(engine: str | None = None) -> Settings:
    found = load_settings(Path(__file__).parents[3] / "config" / "demo.toml", {})
    return found.model_copy(update={"sandbox": SandboxSettings(engine=engine)})


@pytest.fixture(autouse=True)
def no_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine's own engine, if there is one, is none of these tests' business."""
    monkeypatch.setattr(local_engine, "SOCKET", tmp_path / "docker.sock")


def test_the_settings_come_before_the_variable_and_that_before_the_usual_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    assert engine_address(settings()) is None
    (tmp_path / "docker.sock").write_text("no socket")
    assert engine_address(settings()) is None
    (tmp_path / "docker.sock").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "docker.sock"))
        assert engine_address(settings()) == f"unix://{tmp_path}/docker.sock"
    monkeypatch.setenv("DOCKER_HOST", "tcp://engine.example:2375")
    assert engine_address(settings()) == "tcp://engine.example:2375"
    assert engine_address(settings("unix:///other.sock")) == "unix:///other.sock"


async def test_without_an_engine_nothing_is_run_again_and_it_is_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    async with local_executions(settings()) as found:
        assert (found.sandbox, found.why_not, found.image) == (None, NO_ENGINE, UNPUBLISHED)


async def test_an_engine_that_nobody_wants_is_left_alone(tmp_path: Path) -> None:
    async with local_executions(settings(f"unix://{tmp_path}/none.sock"), wanted=False) as found:
        assert (found.sandbox, found.why_not) == (None, NOT_WANTED)


async def test_an_engine_that_does_not_answer_is_named(tmp_path: Path) -> None:
    async with local_executions(settings(f"unix://{tmp_path}/none.sock")) as found:
        assert found.sandbox is None
        assert found.why_not.startswith("sandbox_no_engine: ")
        assert found.image == UNPUBLISHED


async def test_a_machine_that_can_make_no_image_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with local_executions(settings(f"unix://{tmp_path}/none.sock")) as found:
        assert found.sandbox is None
        assert "ldd is not installed" in found.why_not


@pytest.mark.engine
async def test_with_an_engine_miners_declare_what_it_runs_code_is_judged_and_nothing_is_left(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with local_executions(settings()) as found:
        assert found.why_not == ""
        assert found.sandbox is not None
        image = found.image
        assert image != UNPUBLISHED
        assert isinstance(found.code, ContainerCodeSandbox)
        assert await found.code.check(CodeJob(image, *TRIAL)) == CodeReport(1, 1, 0)
        await found.sandbox.close()
    engine = Engine(str(engine_address(settings())))
    assert await engine.image(image.pinned) is None
    await engine.close()
    left = await left_behind()
    assert (left["containers"], left["volumes"]) == (NOTHING["containers"], NOTHING["volumes"])
