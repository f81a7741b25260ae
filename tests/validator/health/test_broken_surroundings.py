"""Miners, the container engine, the task server, ports and limits; and the examination itself."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import stamina
from aiohttp import web
from daemon_process import Miners
from doctor_kit import ME, QUICK, Place, findings, listening, of_status, site
from setups import few_descriptors
from task_builders import numbered, serving

from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from taskmaker.task_server import task_server
from validator.daemon.world import judging_workers
from validator.health.doctor import Check, Diagnosis, Finding, UnknownCheckError, machine
from validator.health.doctor.examination import NotSeenError, Site, examine, ok
from validator.settings.model import Settings, ValidatorSettings
from validator.tasks.source import MemorySource

SERVER, STRANGER = Signer.from_uri("//Server"), Signer.from_uri("//Stranger")
FIT = {
    "OSType": "linux",
    "Architecture": "x86_64",
    "MemoryLimit": True,
    "SwapLimit": True,
    "CpuCfsQuota": True,
    "PidsLimit": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
    "ServerVersion": "20.10\x1b[31m",
    "DefaultRuntime": "runc",
}


async def test_miners_that_answer_and_why_the_others_do_not(tmp_path: Path) -> None:
    place, miners = Place.made(tmp_path), Miners(3)
    place.settings["miners"] = {"allow_private_axons": True}
    subnet = place.subnet()
    await miners.start()
    async with listening(None) as closed:
        pass
    try:
        for hotkey, axon in miners.axons.items():
            subnet.register(hotkey, axon=axon)
        subnet.register(STRANGER.hotkey, axon=Axon("127.0.0.1", closed))
        (finding,) = findings(await place.examined("miners"))
    finally:
        await miners.close()
    assert finding.status == "ok"
    assert finding.seen == (
        "3 of 4 that have an address answer with a declaration that counts; the others: 1 deadline_connect"
    )
    assert not (tmp_path / "validator.sqlite").exists()


async def test_miners_of_whom_none_answers(place: Place) -> None:
    subnet = place.subnet()
    for number in range(3):
        subnet.register(Signer.from_uri(f"//Miner//{number}").hotkey, axon=Axon("10.0.0.1", 8091))
    (warning,) = findings(await place.examined("miners"))
    assert warning.status == "warning"
    assert "0 of 3" in warning.seen
    assert "3 deadline_axon_refused" in warning.seen
    assert "private addresses" in warning.advice


async def test_a_subnet_without_miners(place: Place) -> None:
    place.subnet()
    (note,) = findings(await place.examined("miners"))
    assert (note.status, note.seen) == ("note", "none of 1 neurons has an address")


def engine(info: dict[str, Any]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"ApiVersion": "1.41"} if request.path.endswith("/version") else info)

    return answer


@pytest.mark.parametrize(
    ("info", "status", "seen", "advice"),
    [
        (FIT, "ok", "version 20.10\\u001b[31m, runtime runc", ""),
        (FIT | {"PidsLimit": False}, "fault", "lacks a limit of processes", "cgroups with memory, pids and cpu"),
        (FIT | {"SecurityOptions": []}, "fault", "lacks a seccomp profile", "the default seccomp profile"),
        (None, "fault", "info: ", "Start the engine, free its disk, let this user"),
    ],
    ids=["fit", "no pids", "no seccomp", "away"],
)
async def test_the_engine(info: dict[str, Any] | None, status: str, seen: str, advice: str, place: Place) -> None:
    async with site(engine(info or {})) as port:
        place.environ["DOCKER_HOST"] = f"tcp://127.0.0.1:{port}" if info else f"unix://{place.folder}/no.sock"
        (finding,) = findings(await place.examined("engine"))
    assert finding.status == status
    assert seen in finding.seen
    assert advice in finding.advice


async def test_without_an_engine_it_says_what_stays_unseen(tmp_path: Path) -> None:
    (note,) = findings(await Place.made(tmp_path).examined("engine"))
    assert (note.status, note.seen) == ("note", "none: whether miners ran what they attest stays unseen")


@pytest.mark.parametrize(
    ("pinned", "served", "status", "seen", "advice"),
    [
        (SERVER, ME, "ok", "serves declarative", ""),
        (SERVER, STRANGER, "fault", "status 403", "tasks serve … --validator HOTKEY"),
        (STRANGER, ME, "fault", "status 401", "compare tasks.server_hotkey with the server's hotkey"),
        (SERVER, None, "fault", "ConnectionRefusedError", "look at tasks.server_url"),
    ],
    ids=["good", "not for us", "another server", "away"],
)
async def test_the_task_server(  # noqa: PLR0913, PLR0917 - the columns of the table
    pinned: Signer, served: Signer | None, status: str, seen: str, advice: str, place: Place
) -> None:
    source = MemorySource([numbered(n) for n in range(3)])
    app = task_server(source, SERVER, SystemClock(), frozenset({(served or ME).hotkey}))
    async with serving(app) as base:
        place.settings["tasks"] |= {"server_url": base, "server_hotkey": pinned.hotkey}
        if served is not None:
            (finding,) = findings(await place.examined("tasks"))
    if served is None:
        with stamina.set_testing(True, attempts=2):
            (finding,) = findings(await place.examined("tasks"))
    assert finding.status == status
    assert seen in finding.seen
    assert advice in finding.advice


async def test_that_a_servers_tasks_were_packed_cannot_be_seen_and_matters_under_2_0_0(place: Place) -> None:
    place.environ["VALIDATOR_SCORING__SCHEDULE"] = '{"1.0.0": 0, "2.0.0": 4000}'
    app = task_server(MemorySource([numbered(1)]), SERVER, SystemClock(), frozenset({ME.hotkey}))
    async with serving(app) as base:
        place.settings["tasks"] |= {"server_url": base, "server_hotkey": SERVER.hotkey}
        served, unseen = findings(await place.examined("tasks"))
    assert (served.status, unseen.status) == ("ok", "warning")
    assert "it cannot be seen here which of the server's ordinary tasks were packed" in unseen.seen
    assert "validator tasks seed" in unseen.advice


async def test_a_port_that_another_program_has(place: Place) -> None:
    async with listening(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") as port:
        place.settings["health"] = {"port": port}
        (fault,) = of_status(await place.examined("process"), "fault")
    assert fault.seen == f"http://127.0.0.1:{port}: no health report there"
    assert "set health.host and health.port" in fault.advice
    assert of_status(await place.examined("process"), "fault") == []


async def test_a_port_that_says_nothing(place: Place) -> None:
    async with listening(b"") as port:
        place.settings["health"] = {"port": port}
        (fault,) = of_status(await place.examined("process"), "fault")
    assert fault.seen == f"http://127.0.0.1:{port}: another program listens there"
    assert "set health.host and health.port to a free address" in fault.advice


@pytest.mark.parametrize(
    ("settings", "environ", "about", "seen", "advice"),
    [
        (
            {"health": {"port": 0, "host": "no.such.host.invalid", "expose": True}},
            {},
            "health port",
            "no.such.host",
            "health.host",
        ),
        ({}, {"TMPDIR": "/missing"}, "temporary files", "TMPDIR=/missing takes none; ", "make the folder"),
    ],
    ids=["a host without an address", "a folder that is not there"],
)
async def test_what_a_start_would_find(  # noqa: PLR0913, PLR0917 - the columns of the table
    settings: dict[str, Any], environ: dict[str, str], about: str, seen: str, advice: str, place: Place
) -> None:
    place.subnet()
    place.settings |= settings
    place.environ |= environ
    (found,) = [
        one for one in findings(await place.examined("process", "machine")) if one.status in {"fault", "warning"}
    ]
    assert (found.about, seen in found.seen, advice in found.advice) == (about, True, True), found


async def test_too_few_file_descriptors(place: Place) -> None:
    async with few_descriptors(place):
        (fault,) = of_status(await place.examined("machine"), "fault")
    assert fault.about == "file descriptors"
    assert "is enough" in fault.seen
    assert "`ulimit -n`" in fault.advice


@pytest.mark.parametrize(
    ("meminfo", "cgroup", "status", "mib"),
    [
        ("MemTotal: 67108864 kB", "max", "ok", 65536),
        ("MemTotal: 67108864 kB", "268435456", "warning", 256),  # the container has less than the machine
        ("MemTotal: 262144 kB", "68719476736", "warning", 256),  # the machine has less than the container may have
    ],
)
async def test_memory_is_the_least_of_machine_and_container(  # noqa: PLR0913, PLR0917 - the columns of the table
    meminfo: str, cgroup: str, status: str, mib: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("_MEMINFO", meminfo), ("_CGROUP", cgroup)):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(machine, name, tmp_path / name)
    (finding,) = [one for one in findings(await Place.made(tmp_path).examined("machine")) if one.about == "memory"]
    assert (finding.status, finding.seen.partition(",")[0]) == (status, f"{mib} MiB")


def _site(tmp_path: Path) -> Site:
    settings = Settings(validator=ValidatorSettings(netuid=1))
    limits = QUICK._replace(whole=0.2)
    return Site(settings, tmp_path / "validator.toml", None, {}, SystemClock(), judging_workers, limits)


async def test_checks_run_at_once_and_one_that_hangs_or_fails_costs_only_itself(tmp_path: Path) -> None:
    met = asyncio.Barrier(2)

    async def meets(_: Site) -> list[Finding]:
        await met.wait()
        return [ok("met", "both were there")]

    async def hangs(_: Site) -> list[Finding]:
        await asyncio.Event().wait()
        return []

    async def fails(_: Site) -> list[Finding]:
        raise KeyError("ours\x1b")

    async def waits(_: Site) -> list[Finding]:
        raise NotSeenError("needs another")

    runs: list[tuple[Any, Literal["ok", "fault", "unknown"], str, str]] = [
        (meets, "ok", "both were there", ""),
        (hangs, "fault", "no end within 0.2 s", "look there"),
        (
            fails,
            "fault",
            "this check failed, an error of ours: KeyError: 'ours\\x1b'",
            "report it; meanwhile: look there",
        ),
        (waits, "unknown", "needs another", ""),
        (meets, "ok", "both were there", ""),
    ]
    checks = [Check(f"c{number}", "look there", 60.0, run[0]) for number, run in enumerate(runs)]
    examined = await examine(_site(tmp_path), checks)
    assert [one.check for one in examined] == [check.name for check in checks]
    for one, (_, status, seen, advice) in zip(examined, runs, strict=True):
        (finding,) = one.findings
        assert (finding.status, finding.seen, finding.advice) == (status, seen, advice)
    assert Diagnosis(examined).cut_off


async def test_what_several_checks_look_at_is_looked_at_once(tmp_path: Path) -> None:
    looked, here = [], _site(tmp_path)

    async def look(at: Site) -> int:
        looked.append(at)
        await asyncio.sleep(0)
        return len(looked)

    assert await asyncio.gather(*(here.once(look) for _ in range(3))) == [1, 1, 1]
    await here.close()


async def test_an_unknown_check_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownCheckError, match="`walet`; there are settings, wallet, endpoints"):
        await Place.made(tmp_path).examined("walet")
