"""`validator init`: what it writes can be used, and nothing is ever overwritten."""

import json
import os
import pty
import re
import select
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from cli_store import PROGRAM, called, environment
from package_files import ROOT
from wallet_files import write_hotkey

from sssa.protocol.signatures import Signer
from validator.settings.load import load_settings
from validator.settings.reference import reference
from validator.settings.urls import without_password

ME = Signer.from_uri("//Validator")


# A doctor may warn of this machine; a validator is stopped once it runs.
AS_HERE = {
    "validator doctor": "validator doctor || test $? = 6",
    "validator run": """
mkfifo log
validator run >log & pid=$!
while read -r line; do
    echo "$line"
    case "$line" in *'"daemon_started"'*) kill -TERM $pid ;; esac
done <log
wait $pid
""",
}


def variables(file: Path) -> dict[str, str]:
    """Return the variables as a shell reads them; compose and systemd read single quotes the same way."""
    pairs = (line.split("=", 1) for line in file.read_text().splitlines() if line and not line.startswith("#"))
    return {name: shlex.split(value)[0] for name, value in pairs}


def begun(folder: Path, *options: str) -> tuple[Path, Path]:
    done = called("init", str(folder), *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "  validator doctor\n  validator run\n" in done.stdout
    return folder / "validator.toml", folder / ".env"


def test_what_is_written_holds_what_was_said_and_passes_the_doctor(tmp_path: Path) -> None:
    write_hotkey(tmp_path / "wallets", ME, "cold", "hot")
    (tmp_path / "wallets" / "cold" / "hotkeys" / "hot").chmod(0o600)
    options = "--network", "simulated", "--netuid", "7", "--wallet", "cold", "--hotkey", "hot"
    config, env = begun(tmp_path / "new", *options, "--wallet-path", str(tmp_path / "wallets"))
    settings = load_settings(config, {})
    assert (settings.validator.netuid, settings.chain.kind, settings.wallet.hotkey) == (7, "simulated", "hot")
    assert variables(env) == {"SETTINGS": "./validator.toml", "WALLETS": "./wallets", "TASKS": "./tasks"}
    checks = ("--only", "settings", "--only", "wallet")
    done = called("doctor", "--json", *checks, "--config", str(config))
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["checks"][1]["findings"][0]["seen"].startswith(ME.hotkey)


def test_every_key_stands_in_it_with_its_comment(tmp_path: Path) -> None:
    config, _ = begun(tmp_path, "--netuid", "7", "--network", "wss://node.example:443/key")
    text = config.read_text()
    for entry in reference().values():
        assert re.search(rf"^(# )?{entry.key} = ", text, re.MULTILINE), entry.dotted
    assert [one.reveal() for one in load_settings(config, {}).chain.endpoints] == ["wss://node.example:443/key"]


@pytest.mark.parametrize("password", ["hunter2", "it's $(odd)%40%23"])
def test_a_password_stands_in_a_file_of_its_own_alone(
    password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"postgresql://validator:{password}@db.example/v"
    config, env = begun(tmp_path, "--netuid", "1", "--database", url)
    assert password not in config.read_text() + env.read_text()
    assert load_settings(config, {}).store.url.reveal() == "postgresql://validator@db.example/v"
    given = variables(env)
    assert given["STORE_URL_FILE"] == given["VALIDATOR_STORE__URL_FILE"] == "./secrets/store_url"
    assert not {"COMPOSE_PROFILES", "COMPOSE_FILE"} & set(given)
    assert (
        load_settings(config, {"VALIDATOR_STORE__URL_FILE": given["VALIDATOR_STORE__URL_FILE"]}).store.url.reveal()
        == url
    )
    # A container's user reads it where it is mounted; here nobody else enters its folder.
    secret = tmp_path / "secrets" / "store_url"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (secret, secret.parent, env)] == [0o444, 0o700, 0o600]
    assert [path.name for path in secret.parent.iterdir()] == ["store_url"]


@pytest.mark.parametrize(("database", "folder"), [("sqlite", "."), ("postgres", "a new one")])
def test_the_next_steps_work_in_order_from_an_empty_folder(
    database: str, folder: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    write_hotkey(tmp_path / "wallets", ME, "cold", "hot")
    (tmp_path / "wallets" / "cold" / "hotkeys" / "hot").chmod(0o600)
    place, programs = tmp_path / "place", tmp_path / "programs"
    place.mkdir()
    programs.mkdir()
    (programs / "validator").write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    (programs / "sudo").write_text('#!/bin/sh\nexec "$@" --owner $(id -u)\n')
    (programs / "docker").write_text("#!/bin/sh\ntest -f .env && test -f validator.toml && test -d wallets\n")
    for program in programs.iterdir():
        program.chmod(0o700)
    url = request.getfixturevalue("empty_postgres_url") if database == "postgres" else f"sqlite:///{place}/v.sqlite"
    options = "--network", "simulated", "--netuid", "7", "--wallet", "cold", "--hotkey", "hot", "--database", url
    done = called("init", folder, *options, "--wallet-path", str(tmp_path / "wallets"), cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    steps = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert any(step.startswith("cd ") for step in steps) is (folder != ".")
    free = {"VALIDATOR_HEALTH__PORT": "0", "PATH": f"{programs}:{os.environ['PATH']}"}
    script = "\n".join(AS_HERE.get(step, step) for step in steps)
    ran = subprocess.run(
        ["sh", "-euc", script], capture_output=True, text=True, check=False, cwd=place, env=environment() | free
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert '"event": "daemon_stopped"' in ran.stdout
    assert re.search(rf"^ok +database +{database}", ran.stdout, re.MULTILINE | re.IGNORECASE), ran.stdout


def test_the_password_of_composes_own_postgres_is_written_for_it_too(tmp_path: Path) -> None:
    _, env = begun(tmp_path, "--netuid", "1", "--database", "postgresql://validator:a%20b@postgres/validator")
    assert (tmp_path / "secrets" / "postgres_password").read_text() == "a b\n"
    given = variables(env)
    assert (given["COMPOSE_PROFILES"], given["POSTGRES_PASSWORD_FILE"]) == ("postgres", "./secrets/postgres_password")
    assert all((ROOT / name).is_file() for name in given["COMPOSE_FILE"].split(":"))


def test_compose_reads_every_variable_that_is_written_for_it(tmp_path: Path) -> None:
    _, env = begun(tmp_path, "--netuid", "1", "--database", "postgresql://v:p@postgres/v")
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text())) | {
        "COMPOSE_PROFILES",
        "COMPOSE_FILE",
    }
    names = {f"{entry.variable}_FILE" for entry in reference().values()}
    assert {name for name in variables(env) if name not in used} == {"VALIDATOR_STORE__URL_FILE"} <= names


@pytest.mark.parametrize("there", ["validator.toml", ".env"])
def test_nothing_is_overwritten_and_nothing_half_done(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    done = called("init", str(tmp_path), "--netuid", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path}/{there} exists; name another folder, or move it away" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--netuid", "70000"), "validator.netuid: got 70000; allowed is a whole number from 0 to 65535"),
        (("--netuid", "1", "--network", "http://x"), "chain.endpoints: got a value that is not shown"),
        (("--netuid", "1", "--network", "tset"), "networks archive, devnet, finney, local, test"),
        (("--netuid", "1", "--wallet", "../x"), "wallet.name: got"),
        (("--netuid", "1", "--database", "mysql://v:hunter2@db/v"), "store.url: got a value that is not shown"),
        ((), "standard input is no terminal; say --netuid"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = called("init", str(tmp_path / "new"), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "hunter2" not in done.stderr
    assert "/tmp/tmp" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_on_a_terminal_it_asks_for_what_no_option_says(tmp_path: Path) -> None:
    write_hotkey(tmp_path / "wallets", ME, "cold", "hot")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "init", str(tmp_path / "new"), "--network", "test"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment()) as process:
        os.close(theirs)
        shown = ""
        for question, answer in (
            ("Subnet (netuid): ", "many"),
            ("Subnet (netuid): ", "42"),
            ("Folder of the wallets [~/.bittensor/wallets]: ", f"{tmp_path}/wallets"),
            ("Wallet (there is cold) [cold]: ", ""),
            ("Hotkey (there is hot) [hot]: ", ""),
            ("Database (sqlite:///FILE or postgresql://…) [sqlite:///validator.sqlite]: ", ""),
        ):
            while not shown.endswith(question):
                assert select.select([ours], [], [], 60)[0], shown
                shown += os.read(ours, 65_536).decode()
            os.write(ours, f"{answer}\n".encode())
        assert process.wait(60) == 0
    os.close(ours)
    settings = load_settings(tmp_path / "new" / "validator.toml", {})
    assert (settings.validator.netuid, settings.wallet.name, settings.wallet.hotkey) == (42, "cold", "hot")
    assert [one.reveal() for one in settings.chain.endpoints] == ["test"]


def test_urls_lose_their_password_and_nothing_else() -> None:
    shown = {
        "postgresql://u:p@h/db": "postgresql://u@h/db",
        "postgresql://u:p@s@h/db?x=1": "postgresql://u@h/db?x=1",
        "postgresql://u@h/db": "postgresql://u@h/db",
        "postgresql:///db?host=/tmp": "postgresql:///db?host=/tmp",
        "sqlite:///v.sqlite": "sqlite:///v.sqlite",
        "no url": "no url",
    }
    assert {url: without_password(url) for url in shown} == shown
