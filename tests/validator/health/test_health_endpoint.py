"""/healthz, /readyz and /metrics over real HTTP, and `validator health` asking them."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from alive import blocks_alive
from fork_start import ran

from sssa.sources import SystemClock, VirtualClock
from validator.health.board import Board
from validator.health.catalogue import CHECKS, CONDITIONS
from validator.health.client import HealthAddressError, HealthAnswer, ask_health
from validator.health.endpoint import HealthEndpointError, HealthService
from validator.health.report import CHAIN_LIMIT_S, HealthState
from validator.settings.model import HealthSettings
from validator.telemetry.metrics import CONTENT_TYPE, Metrics

ANY_PORT = HealthSettings(port=0)


@asynccontextmanager
async def running(service: HealthService) -> AsyncIterator[HealthSettings]:
    """Run the service as the daemon does; give the settings that find it."""
    await service.start()
    host, port = service.address
    task = asyncio.create_task(service.run())
    try:
        yield HealthSettings(host=host, port=port)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()


def new_state() -> HealthState:
    return HealthState(clock := SystemClock(), 600.0, "0.0.1", Board(clock))


async def ask(settings: HealthSettings) -> HealthAnswer:
    return await asyncio.to_thread(ask_health, settings, 5.0)


async def get(settings: HealthSettings, path: str, headers: dict[str, str] | None = None) -> tuple[int, str, bytes]:
    url = f"http://{settings.host}:{settings.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, response.headers["Content-Type"], await response.read()


async def test_ready_is_200_where_every_check_is_passed_else_503_with_the_report() -> None:
    state = new_state()
    async with running(HealthService(ANY_PORT, state)) as settings:
        assert (await get(settings, "/readyz"))[:2] == (200, "application/json; charset=utf-8")
        answer = await ask(settings)
        assert (answer.healthy, answer.status) == (True, "ok")
        assert answer.report is not None
        assert answer.report["version"] == "0.0.1"
        state.board.raise_("gates_behind", "70 s")
        assert (await get(settings, "/readyz"))[0] == 503
        answer = await ask(settings)
        assert (answer.healthy, answer.status) == (True, "degraded: gates_behind")
        state.board.raise_("store_away", "refused")
        answer = await ask(settings)
        assert (answer.healthy, answer.status) == (False, "unhealthy: store_away, gates_behind")
        assert (await get(settings, "/healthz"))[0] == 200
        state.board.clear("store_away")
        state.board.clear("gates_behind")
        state.stopping = True
        assert (await get(settings, "/readyz"))[0] == 503
        answer = await ask(settings)
        assert (answer.healthy, answer.status) == (True, "stopping")


async def test_a_note_has_a_line_of_its_own_and_is_nothing_to_look_at() -> None:
    state = new_state()
    async with running(HealthService(ANY_PORT, state)) as settings:
        state.board.raise_("executions_off")
        state.board.raise_("local_disk", "1 MiB")
        answer = await ask(settings)
    assert answer.status == "unhealthy: local_disk"
    assert [line.partition(":")[0] for line in answer.conditions] == ["local_disk (unhealthy)"]
    assert [line.partition(":")[0] for line in answer.notes] == ["executions_off (note)"]
    assert "Seen: 1 MiB. " in answer.conditions[0]
    assert "Seen" not in answer.notes[0]


async def test_what_others_can_make_fail_is_named_and_leaves_ready_at_200() -> None:
    theirs = {one.name for one in CONDITIONS.values() if CHECKS[one.check].theirs}
    assert {"miners_out", "weights_few_paid", "weights_concentrated", "rounds_no_valid_answers"} <= theirs
    assert {CONDITIONS[name].severity for name in theirs} == {"degraded"}
    state = new_state()
    async with running(HealthService(ANY_PORT, state)) as settings:
        for name in theirs - {"chain_slow"}:
            state.board.raise_(name)
        for block in (1, 2):
            state.record_block(block, latency_s=2.0)  # that is chain_slow
        status, _, body = await get(settings, "/readyz")
        report = json.loads(body)
        assert (status, report["status"]) == (200, "degraded")
        assert {each["name"] for each in report["conditions"]} == theirs
        assert (await get(settings, "/healthz"))[0] == 200
        assert (await ask(settings)).healthy
        state.board.raise_("gates_behind")
        assert (await get(settings, "/readyz"))[0] == 503


async def test_alive_is_200_but_for_what_only_a_restart_ends() -> None:
    clock = VirtualClock()
    state = HealthState(clock, 600.0, "0.0.1", Board(clock))
    async with running(HealthService(ANY_PORT, state)) as settings:
        assert (await get(settings, "/healthz"))[::2] == (200, b'{"status": "alive"}')
        await clock.advance(0)
        state.waits()
        for _ in range(40):  # the loop beats, and no round comes
            await clock.advance(100)
        assert (await get(settings, "/healthz"))[::2] == (503, b'{"status": "stuck", "condition": "rounds_silent"}')


async def test_with_a_token_only_life_is_told_to_strangers() -> None:
    token = "0123456789abcdef"
    service = HealthService(HealthSettings(port=0, token=token), new_state(), Metrics(SystemClock(), "0.0.1"))
    async with running(service) as listening:
        settings = listening.model_copy(update={"token": token})
        right, wrong = {"Authorization": f"Bearer {token}"}, {"Authorization": "Bearer \u00e9"}
        assert (await get(settings, "/healthz"))[0] == 200
        for path in ("/readyz", "/metrics"):
            assert [(await get(settings, path, one))[0] for one in ({}, wrong, right)] == [401, 401, 200]
        assert (await ask(settings)).status == "ok"
        answer = await ask(listening)
        assert (answer.healthy, answer.status) == (False, "it asks for another health.token")


async def test_nothing_else_is_served() -> None:
    async with running(HealthService(ANY_PORT, new_state())) as settings:
        assert (await get(settings, "/"))[0] == 404
        assert (await get(settings, "/metrics"))[0] == 404
        async with aiohttp.ClientSession() as session:
            url = f"http://{settings.host}:{settings.port}/healthz"
            async with session.post(url, data=b"x") as response:
                assert response.status == 405


async def test_metrics_are_served_in_prometheus_form() -> None:
    clock = SystemClock()
    metrics = Metrics(clock, "0.0.1")
    metrics.record_block(77)
    async with running(HealthService(ANY_PORT, new_state(), metrics)) as settings:
        status, kind, body = await get(settings, "/metrics")
    assert (status, kind) == (200, CONTENT_TYPE)
    assert b"validator_chain_block 77.0" in body


async def test_the_service_beats_and_looks_on_its_own() -> None:
    clock = VirtualClock()
    state = HealthState(clock, 600.0, "0.0.1", Board(clock))
    state.lost_chain("refused")
    async with running(HealthService(ANY_PORT, state)) as settings:
        for _ in range(int(CHAIN_LIMIT_S) + 5):
            await clock.advance(1.0)
        assert state.board.is_active("chain_away")  # without anybody who asks
        assert (await ask(settings)).status == "degraded: chain_away"  # and the loop check did not fail


async def test_the_last_rounds_advice_is_told_but_for_active_conditions() -> None:
    state = new_state()
    state.board.raise_("rounds_no_miners", "seen")
    advice = {"rounds_no_miners": "seen: Check it.", "rounds_no_tasks": "rounds_no_miners: is not its name."}
    state.round_ended("7", advice)
    async with running(HealthService(ANY_PORT, state)) as settings:
        answer = await ask(settings)
    assert answer.advice == ("round 7: rounds_no_miners: is not its name.",)
    assert answer.conditions[0].startswith("rounds_no_miners ")


async def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    async with running(HealthService(ANY_PORT, new_state())) as settings:
        second = HealthService(settings, new_state())
        with pytest.raises(HealthEndpointError, match=f"port {settings.port}: .*set \\[health\\] host and port"):
            await second.run()
        with pytest.raises(HealthEndpointError, match="not started"):
            _ = second.address


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_no_answer_is_unhealthy() -> None:
    answer = ask_health(HealthSettings(port=free_port()), 5.0)
    assert (answer.healthy, answer.status, answer.report) == (False, "no answer: Connection refused", None)


def test_a_port_left_to_chance_cannot_be_asked() -> None:
    with pytest.raises(HealthAddressError, match="set one"):
        ask_health(ANY_PORT, 5.0)


def test_an_address_for_everybody_is_asked_on_loopback() -> None:
    port = free_port()
    assert ask_health(HealthSettings(host="0.0.0.0", port=port), 5.0).address == f"http://127.0.0.1:{port}"
    assert ask_health(HealthSettings(host="::", port=port), 5.0).address == f"http://[::1]:{port}"


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\x00\xff\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
        b'HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{"status": ["ok"]}',
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000,
    ],
)
async def test_what_is_no_health_report_is_unhealthy(reply: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await ask(HealthSettings(port=port))
    assert not found.healthy
    assert found.report is None


async def test_the_command_exits_with_the_answer(tmp_path: Path) -> None:
    state = new_state()
    config = tmp_path / "my.toml"

    def command(*options: str) -> tuple[int, str]:
        done = ran("health", "--config", str(config), *options)
        return done.returncode, done.stdout

    async with running(HealthService(ANY_PORT, state)) as settings:
        config.write_text(f"[validator]\nnetuid = 1\n[health]\nport = {settings.port}\n")
        shown = f"http://127.0.0.1:{settings.port}"
        assert await asyncio.to_thread(command) == (0, f"{shown}: ok\n")
        code, output = await asyncio.to_thread(command, "--json")
        assert code == 0
        assert f'{{"healthy": true, "address": "{shown}", "status": "ok", "report": {{"status": "ok"' in output
        state.board.raise_("executions_off")
        note = (
            f"  executions_off (note): {CONDITIONS['executions_off'].meaning} {CONDITIONS['executions_off'].advice}\n"
        )
        assert await asyncio.to_thread(command, "--strict") == (0, f"{shown}: ok\n{note}")
        state.board.raise_("gates_behind", "70 s")
        condition = CONDITIONS["gates_behind"]
        line = f"  gates_behind (degraded): {condition.meaning} Seen: 70 s. {condition.advice}\n"
        assert await asyncio.to_thread(command) == (0, f"{shown}: degraded: gates_behind\n{line}{note}")
        assert (await asyncio.to_thread(command, "--strict"))[0] == 1
        state.board.clear("gates_behind")
        assert (await asyncio.to_thread(command, "--strict"))[0] == 0
        state.board.raise_("store_away", "refused")
        code, output = await asyncio.to_thread(command)
        assert (code, f"{shown}: unhealthy: store_away\n" in output) == (1, True)
    code, output = await asyncio.to_thread(command)
    assert (code, output) == (1, f"{shown}: no answer: Connection refused\n")


@pytest.mark.attack
async def test_more_readers_leave_no_more_alive_than_those_before() -> None:
    async with running(HealthService(ANY_PORT, new_state(), Metrics(SystemClock(), "0.0.1"))) as settings:
        others = asyncio.all_tasks()

        async def after() -> int:
            for path in ("/healthz", "/readyz", "/metrics", "/none"):
                for _ in range(30):
                    await get(settings, path)
            while asyncio.all_tasks() - others:  # noqa: ASYNC110 - connections that end, and nothing says when
                await asyncio.sleep(0)
            return await blocks_alive()

        await after()
        first, second, third = [await after() for _ in range(3)]
        # One object kept of each request would be 120, every time; what is made once, late, is in one of them.
        assert min(second - first, third - second) <= 80
