"""`validator run` where it cannot: one line on stderr that says what, where, what to do; an exit code for each."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

from fork_start import Forked, ran
from wallet_files import ENCRYPTED

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from validator.daemon.exits import Exit

SETTINGS = """
[validator]
netuid = {netuid}
[wallet]
{wallet}
[chain]
kind = "simulated"
state = "{folder}/chain.json"
[store]
url = "sqlite:///{folder}/validator.sqlite"
[tasks]
directory = "{folder}"
[health]
port = 0
"""
ME = Signer.from_uri("//Validator")


def settings_in(folder: Path, *, wallet: str = 'uri = "//Validator"', netuid: int = 1) -> Path:
    config = folder / "validator.toml"
    config.write_text(SETTINGS.format(folder=folder, wallet=wallet, netuid=netuid))
    return config


def subnet_in(folder: Path) -> SimulatedSubnet:
    clock = SystemClock()
    rules = SubnetRules(seed="exit", genesis=int(clock.now().timestamp()))
    return SimulatedSubnet.create(rules, clock, folder / "chain.json")


@contextmanager
def running(config: Path, event: str) -> Iterator[tuple[Forked, list[dict[str, Any]]]]:
    """A daemon that has logged an event, and everything that it logged until then."""
    log = config.with_name("log")
    with log.open("wb") as out:
        daemon = Forked("run", "--config", str(config), out=out)
    try:
        while event not in (said := log.read_text().rpartition("\n")[0]) and daemon.returncode is None:
            time.sleep(0.01)
        yield daemon, [json.loads(line) for line in said.splitlines()]
    finally:
        daemon.kill()
        daemon.ended(10)


def refused(config: Path, code: Exit, *command_words: str) -> str:
    """The one line with which `validator run` or another command ends."""
    done = ran(*(command_words or ("run",)), "--config", str(config))
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    if not command_words:
        last = json.loads(done.stdout.splitlines()[-1])
        assert (last["event"], last["exit_code"], last["level"]) == ("daemon_failed", code, "error")
        assert last["reason"] == lines[0]
        assert "exception" not in last
    return lines[0]


def test_a_missing_hotkey(tmp_path: Path) -> None:
    wallet = f'path = "{tmp_path}/wallets"\nname = "cold"\nhotkey = "hot"'
    line = refused(settings_in(tmp_path, wallet=wallet), Exit.HOTKEY_MISSING)
    assert line.startswith("The hotkey's file is not there: hotkey `hot` of wallet `cold` in ")
    assert "check path, name and hotkey of [wallet]" in line


def test_an_encrypted_hotkey(tmp_path: Path) -> None:
    file = tmp_path / "wallets" / "cold" / "hotkeys" / "hot"
    file.parent.mkdir(parents=True)
    file.write_bytes(ENCRYPTED.read_bytes())
    wallet = f'path = "{tmp_path}/wallets"\nname = "cold"\nhotkey = "hot"'
    line = refused(settings_in(tmp_path, wallet=wallet), Exit.HOTKEY_ENCRYPTED)
    assert line.startswith("The hotkey's file is encrypted: hotkey `hot` of wallet `cold` in ")
    assert "wallet.password_file" in line


def test_a_hotkey_that_is_not_registered(tmp_path: Path) -> None:
    subnet_in(tmp_path).register(Signer.from_uri("//Other").hotkey)
    line = refused(settings_in(tmp_path), Exit.NOT_REGISTERED)
    assert line.startswith(f"The hotkey is not registered on the subnet: {ME.hotkey} on netuid 1 at ")
    assert "register it, or check [wallet] and validator.netuid" in line


def test_a_netuid_that_does_not_exist(tmp_path: Path) -> None:
    subnet_in(tmp_path).register(ME.hotkey)
    line = refused(settings_in(tmp_path, netuid=7), Exit.NO_SUBNET)
    assert line.startswith("The chain has no such subnet: validator.netuid is 7, but ")


def test_a_second_daemon_on_the_store(tmp_path: Path) -> None:
    config = settings_in(tmp_path)
    with running(config, "daemon_started") as (first, _):
        line = refused(config, Exit.STORE_IN_USE)
    assert line.startswith(f"Another validator writes to this store: process {first.pid} writes to validator.sqlite; ")
    assert "stop it first" in line


def test_a_taken_health_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = settings_in(tmp_path)
        config.write_text(config.read_text().replace("port = 0", f"port = {taken.getsockname()[1]}"))
        assert "The health endpoint cannot listen" in refused(config, Exit.INPUT)


def test_a_store_of_another_chain(tmp_path: Path) -> None:
    config = settings_in(tmp_path)
    with running(config, "store_chain_adopted") as (_, log):
        adopted = next(line for line in log if line["event"] == "store_chain_adopted")
    (tmp_path / "chain.json").unlink()
    again = subnet_in(tmp_path)
    again.register(ME.hotkey, stake_tao=10.0, validator_permit=True)
    line = refused(config, Exit.OTHER_STORE)
    assert line.startswith(
        "The store belongs to another chain, subnet or hotkey: the store is of the chain with genesis "
    )
    assert f"genesis {adopted['genesis']}, what answers has genesis {again.blocks.identity}; correct " in line
    assert "or name another database in store.url" in line
    assert refused(config, Exit.OTHER_STORE, "weights", "plan") == line
    assert ran("rounds", "list", "--config", str(config)).returncode == Exit.FINE


def test_what_the_chain_asks_for_is_logged_at_the_start(tmp_path: Path) -> None:
    with running(settings_in(tmp_path), "daemon_started") as (_, log):
        events = takewhile(lambda line: line["event"] != "daemon_started", log)
        told = [(line["event"], line.get("name")) for line in events]
    names = [
        "registered",
        "mechanism",
        "permit",
        "stake",
        "version_key",
        "commit_reveal",
        "commitments",
        "rate_limit",
        "least_weights",
    ]
    assert told == [("store_chain_adopted", None), *(("precondition", name) for name in names)]


def test_every_exit_code_says_what_it_means() -> None:
    assert [int(code) for code in Exit] == [*range(7), *range(10, 19)]
    assert all(code.meaning.endswith(".") for code in Exit)
