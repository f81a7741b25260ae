"""`validator miner run`: one reference miner in its own process, and how it announces itself."""

import asyncio
import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fork_start import ran
from miner_kit import VALIDATOR, Bench, job
from pump import pumped
from structlog.testing import capture_logs
from subtensor_node import Node
from wallet_files import write_hotkey

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from miner.server import LocalMiner
from miner.standalone import (
    AnnouncementError,
    MinerOptions,
    PermitHolders,
    address_to_announce,
    chain_for,
    run_miner,
)
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.sources import SystemClock, VirtualClock
from validator.chain.bittensor import BittensorChain
from validator.chain.interface import NotRegisteredError
from validator.daemon.exits import Exit
from validator.daemon.signals import Stop
from validator.miners.client import HttpMinerClient
from validator.settings.model import Settings, ValidatorSettings

START = datetime(2026, 1, 1, tzinfo=UTC)
MINER = Signer.from_uri("//Miner")


def command(folder: Path, *arguments: str) -> list[str]:
    write_hotkey(folder / "wallets", MINER)
    config = folder / "miner.toml"
    config.write_text(f'[validator]\nnetuid = 1\n[wallet]\npath = "{folder}/wallets"\n[log]\nformat = "json"\n')
    return ["miner", "run", "--config", str(config), *arguments]


async def test_a_miner_without_a_chain_answers_whom_it_was_told(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from validator.cli import main; main()"]
    arguments = command(tmp_path, "--port", "0", "--validator", VALIDATOR.hotkey)
    process = await asyncio.create_subprocess_exec(*program, *arguments, stdout=asyncio.subprocess.PIPE)
    client = HttpMinerClient(VALIDATOR, allow_private=True)
    try:
        assert process.stdout is not None
        started = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
        assert (started["event"], started["hotkey"]) == ("miner_started", MINER.hotkey)
        miner = cast("LocalMiner", SimpleNamespace(hotkey=MINER.hotkey))
        bench = Bench(miner, Axon(started["host"], started["port"]), client)
        assert (await bench.capabilities()).status == 200
        asked = await bench.ask(job({"SKILL.md": b"# Greeter\n\nSay hello.\n"}, SkillType.DECLARATIVE))
        assert asked.judged.reason == Reason.ACCEPTED
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        await client.close()
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--announce",), "--announce needs --external-ip"),
        (("--announce", "--external-ip", "127.0.0.1"), "the chain takes none of this kind"),
        (("--announce", "--external-ip", "here"), "is no IPv4 or IPv6 address"),
    ],
)
def test_an_address_that_cannot_be_announced_is_bad_input(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    done = ran(*command(tmp_path, *arguments))
    assert done.returncode == Exit.INPUT
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_miner_needs_the_real_chain_or_a_named_validator() -> None:
    simulated = Settings.model_validate({"validator": {"netuid": 1}, "chain": {"kind": "simulated"}})
    named = MinerOptions(validators=(VALIDATOR.hotkey,))
    assert chain_for(simulated, MINER, SystemClock(), named) is None
    for options in (MinerOptions(), MinerOptions(announced=Axon("192.0.2.7", 1), validators=named.validators)):
        with pytest.raises(AnnouncementError, match="must be"):
            chain_for(simulated, MINER, SystemClock(), options)
        real = Settings(validator=ValidatorSettings(netuid=7))
        chain = chain_for(real, MINER, SystemClock(), options)
        assert chain is not None
        assert (chain._endpoints.all, chain.netuid) == (("finney",), 7)


def test_addresses_to_announce() -> None:
    assert address_to_announce("192.168.1.5", None) == Axon("192.168.1.5", 0)
    assert address_to_announce("2001:db8::7", 8091) == Axon("2001:db8::7", 8091)


class Network:
    """A node in memory below the real SDK, and a miner's connection to it."""

    def __init__(self) -> None:
        self.clock = VirtualClock(START)
        rules = SubnetRules(seed="n", genesis=int(START.timestamp()), block_time_s=2.0)
        self.subnet = SimulatedSubnet.create(rules, self.clock)
        self.subnet.register(VALIDATOR.hotkey, stake_tao=100.0, validator_permit=True)
        self.node = Node(self.subnet, self.clock)
        self.stop = Stop()
        self.chain = BittensorChain(
            endpoints=("ws://node.invalid",),
            netuid=1,
            signer=MINER,
            clock=self.clock,
            substrate=self.node.connect,
        )

    async def run(self, options: MinerOptions, until: str) -> list[str]:
        """Run the miner until it has said `until`; return what it said."""
        await self.clock.advance(30.0)

        async def stop_then() -> None:
            while not any(line["event"] == until for line in log):
                await self.clock.sleep(0.5)
            self.stop.request()

        with capture_logs() as log:
            both = asyncio.gather(
                run_miner(MINER, self.clock, options, self.stop, self.chain), asyncio.ensure_future(stop_then())
            )

            async def awaited() -> None:
                await both

            await pumped(self.clock, awaited())
        await self.chain.close()
        return [line["event"] for line in log]


pytestmark = pytest.mark.usefixtures("sdk_home")


async def test_a_miner_announces_itself_once() -> None:
    network = Network()
    network.subnet.register(MINER.hotkey)
    options = MinerOptions(announced=Axon("192.0.2.9", 8099))
    assert await network.run(options, "miner_announced") == ["miner_started", "miner_announced"]
    me = network.subnet.snapshot().by_hotkey(MINER.hotkey)
    assert me is not None
    assert me.axon == Axon("192.0.2.9", 8099)
    assert [call.function for call in network.node.sent] == ["serve_axon"]

    again = Network()
    again.subnet.register(MINER.hotkey, axon=Axon("192.0.2.9", 8099))
    assert await again.run(options, "miner_announced") == ["miner_started", "miner_announced"]
    assert again.node.sent == []


async def test_a_miner_without_a_slot_says_so() -> None:
    network = Network()
    with pytest.raises(NotRegisteredError, match="register it before"):
        await network.run(MinerOptions(announced=Axon("192.0.2.9", 0)), "miner_announced")


async def test_whoever_holds_a_permit_is_answered() -> None:
    network = Network()
    holders = PermitHolders(())
    assert VALIDATOR.hotkey not in holders
    holders.look(network.subnet.snapshot())
    assert VALIDATOR.hotkey in holders
    network.subnet.set_permit(VALIDATOR.hotkey, validator_permit=False)
    holders.look(network.subnet.snapshot())
    assert VALIDATOR.hotkey not in holders
    named = PermitHolders((MINER.hotkey,))
    named.look(network.subnet.snapshot())
    assert MINER.hotkey in named
    assert VALIDATOR.hotkey not in named
