"""Chain operations of `validator localnet up`: refusals are explained, temporary ones retried."""

import json
from collections.abc import Callable
from pathlib import Path

import bittensor as bt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from dev_chain import ALICE, DevChain, SudoReport
from page_commands import validator

from localnet.onchain.alice import Alice, CallRefusedError, NoSuchCallError
from localnet.onchain.bring_up import _chain_side
from localnet.onchain.files import OtherFolderError
from localnet.onchain.miners import require_announceable
from localnet.onchain.options import UpOptions
from localnet.onchain.safety import look_at
from localnet.onchain.subnet import set_all, subnet_knobs
from miner.standalone import AnnouncementError
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from validator.chain.interface import ChainUnreachableError, NoSubnetError
from validator.daemon.exits import Exit

FINNEY = "2f0555cc76fc2840a25a6ea3b9637146806f1f44b090c175ffde2a7e5ab36c03"
URL = "ws://127.0.0.1:9944"
BLOCK_S = 0.02
BOTH = pytest.mark.parametrize("sudo_report", ["by the node", "in the event"])
Made = Callable[..., DevChain]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Made:
    """Make the chain that every client of the SDK meets."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("bittensor.config.DEFAULT_TOKEN_SYMBOLS_PATH", tmp_path / "symbols.json")

    def make(*lacks: str, sudo_report: SudoReport = "by the node") -> DevChain:
        chain = DevChain(BLOCK_S, lacks=frozenset(lacks), sudo_report=sudo_report)
        for substrate in ("bittensor.client.RpcSubstrate", "validator.chain.connection.NodeSubstrate"):
            monkeypatch.setattr(substrate, lambda *_, **__: chain.connect())
        return chain

    return make


async def prepared(folder: Path, stage: Callable[[str], None], netuid: int | None = None) -> int:
    """Do the chain's side of it; return the subnet."""
    options = UpOptions(folder, netuid, miners=2, tempo=12)
    ready = await _chain_side(options, await look_at(URL, SystemClock()), stage, SystemClock())
    return ready.settings.validator.netuid


def held(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.suffix != ".json"}


def refused(chain: DevChain, name: str) -> int:
    return chain.calls.count((name, False))


@BOTH
async def test_settings_pass_where_the_freeze_window_stays(made: Made, sudo_report: SudoReport, tmp_path: Path) -> None:
    chain, shown = (
        made("sudo_set_admin_freeze_window", "sudo_set_start_call_delay", sudo_report=sudo_report),
        list[str](),
    )
    assert await prepared(tmp_path, shown.append) == 2
    assert chain.freeze_window == 10
    assert sum(refused(chain, name) for name, _ in set(chain.calls)) > 3
    assert "AdminActionProhibitedDuringWeightsWindow" in "".join(shown)
    assert "not changed: The chain's runtime has no such call: AdminUtils.sudo_set_admin_freeze_window" in shown
    assert (chain.stepping().tempo, chain.subnet.rules.reveal_epochs) == (12, 0)
    assert chain.first_emission is not None


@BOTH
async def test_a_window_that_never_opens_ends_it_by_name(
    made: Made, sudo_report: SudoReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = made(sudo_report=sudo_report)
    monkeypatch.setattr("localnet.onchain.alice.ATTEMPTS", 13)
    chain.freeze_window, shown = 11, list[str]()
    alice = Alice(URL, SystemClock(), shown.append)
    await alice.call(bt.calls.SubtensorModule.register_network(hotkey=ALICE))
    with pytest.raises(CallRefusedError, match=r"AdminActionProhibitedDuringWeightsWindow.*tried 13 times"):
        await set_all(alice, subnet_knobs(2, 12)[:1])
    assert refused(chain, "sudo_set_tempo") == 13
    assert len(shown) == 1
    await alice.close()
    assert chain.connections == 0


@BOTH
async def test_what_no_later_block_can_lift_is_tried_once(made: Made, sudo_report: SudoReport, tmp_path: Path) -> None:
    chain = made(sudo_report=sudo_report)
    chain.never = {"sudo_set_tempo"}
    with pytest.raises(CallRefusedError, match=r"sudo_set_tempo: not_authorized \(BadOrigin\)"):
        await prepared(tmp_path, print)
    assert refused(chain, "sudo_set_tempo") == 1


async def test_a_runtime_without_a_call_that_is_needed_says_which(made: Made, tmp_path: Path) -> None:
    made("sudo_set_tempo")
    with pytest.raises(NoSuchCallError, match=r"AdminUtils\.sudo_set_tempo"):
        await prepared(tmp_path, print)


async def test_a_second_try_goes_on_with_what_is_there(made: Made, tmp_path: Path) -> None:
    chain = made()
    chain.never = {"sudo_set_weights_set_rate_limit"}
    with pytest.raises(CallRefusedError):
        await prepared(tmp_path, print)
    files = held(tmp_path)
    chain.never.clear()
    assert await prepared(tmp_path, print) == 2
    assert await prepared(tmp_path, print) == 2
    assert held(tmp_path) == files
    names = [name for name, well in chain.calls if well]
    assert names.count("register_network") == names.count("add_stake") == names.count("start_call") == 1
    assert names.count("burned_register") == 3
    with pytest.raises(OtherFolderError, match="is of netuid 2"):
        await prepared(tmp_path, print, netuid=1)
    with pytest.raises(NoSubnetError, match="netuid 9"):
        await prepared(tmp_path / "other", print, netuid=9)


async def test_a_chain_that_did_not_keep_a_setting_is_not_taken_for_ready(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = made()
    monkeypatch.setattr(chain, "root", lambda _name, _params: None)
    with pytest.raises(Exception, match="Tempo is 10, not 12; CommitRevealWeightsEnabled is True, not False"):
        await prepared(tmp_path, print)


@pytest.mark.parametrize(("key", "genesis"), [("//Bob", None), (None, None), ("//Alice", FINNEY)])
def test_another_chain_is_refused_before_anything_is_signed_or_written(
    made: Made, key: str | None, genesis: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = made()
    chain.sudo_key = None if key is None else Signer.from_uri(key).hotkey
    chain.genesis_hash = genesis or chain.genesis_hash
    code, _ = validator(["localnet", "up", "--url", URL, "--folder", str(tmp_path / "run")])
    assert code == Exit.INPUT
    words = "finney" if genesis else "not //Alice; name your own node"
    assert words in capsys.readouterr().err
    assert chain.calls == []
    assert not (tmp_path / "run").exists()


def test_no_address_is_taken_that_the_chain_would_refuse() -> None:
    require_announceable("127.0.0.2")
    require_announceable("192.168.1.7")
    for host in ("127.0.0.1", "::1", "0.0.0.0", "nowhere"):
        with pytest.raises(AnnouncementError):
            require_announceable(host)


def test_a_vector_that_does_not_land_is_told_with_what_became_of_the_dispatches(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made()
    monkeypatch.setattr(UpOptions, "patience", lambda _self, _block_s, _tempo: 3)
    words = ["localnet", "up", "--url", URL, "--folder", str(tmp_path / "run"), "--miners", "1", "--tempo", "10"]
    code, printed = validator([*words, "--json"])
    assert (code, json.loads(printed)["error"]["exit_code"]) == (Exit.NO, Exit.NO)
    assert "No vector that pays a miner landed: 3 blocks have passed; " in capsys.readouterr().err
    assert (tmp_path / "run" / "validator.log").stat().st_size > 0


@pytest.mark.parametrize("url", ["http://127.0.0.1:9944", "", "nowhere"])
def test_what_is_no_nodes_address_is_bad_input(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = validator(["localnet", "up", "--dry-run", "--url", url])
    assert code == Exit.INPUT
    assert "name a ws:// or wss:// url, or local" in capsys.readouterr().err


@pytest.mark.faults  # it waits for the SDK to give up
async def test_a_websocket_that_is_no_nodes_is_said_to_be_none() -> None:
    async def answers(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_json({"jsonrpc": "2.0", "id": json.loads(message.data)["id"], "result": None})
        return socket

    app = web.Application()
    app.router.add_get("/{key}", answers)
    async with TestServer(app) as server:
        with pytest.raises(ChainUnreachableError) as caught:
            await look_at(f"ws://127.0.0.1:{server.port}/hunter2", SystemClock())
    assert "is no node of this chain" in str(caught.value)
    assert "hunter2" not in str(caught.value)
