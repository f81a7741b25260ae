"""The hotkey's file, and nothing else of the wallet, is copied to the container's folder for its user alone."""

import os
from pathlib import Path

import pytest
from cli_store import called
from wallet_files import write_hotkey

from sssa.protocol.signatures import Signer

ME = Signer.from_uri("//Validator")
SETTINGS = '[validator]\nnetuid = 1\n[wallet]\npath = "{}/mine"\nname = "cold"\nhotkey = "hot"\n'


@pytest.fixture
def wallets(tmp_path: Path) -> Path:
    (tmp_path / "my.toml").write_text(SETTINGS.format(tmp_path))
    write_hotkey(tmp_path / "mine", ME, "cold", "hot")
    (tmp_path / "mine" / "cold" / "coldkey").write_text("secret phrase")
    return tmp_path / "wallets"


def install(folder: Path, owner: int) -> tuple[int, str]:
    done = called("wallet", "install", str(folder), "--owner", str(owner), "--config", str(folder.parent / "my.toml"))
    return done.returncode, done.stdout + done.stderr


def test_the_hotkey_alone_is_installed_for_its_user_and_again_changes_nothing(wallets: Path) -> None:
    owner = os.geteuid() or 10_001
    for _ in range(2):
        code, message = install(wallets, owner)
        assert (code, "the hotkey alone" in message) == (0, True), message
    found = {str(path.relative_to(wallets)): path.stat() for path in wallets.rglob("*")}
    assert set(found) == {"cold", "cold/hotkeys", "cold/hotkeys/hot"}
    assert {name: oct(one.st_mode & 0o777) for name, one in found.items()} == {
        "cold": "0o500",
        "cold/hotkeys": "0o500",
        "cold/hotkeys/hot": "0o400",
    }
    assert {(one.st_uid, one.st_gid) for one in found.values()} == {(owner, owner)}
    assert (wallets / "cold/hotkeys/hot").read_bytes() == (wallets.parent / "mine/cold/hotkeys/hot").read_bytes()


def test_another_key_and_a_folder_of_other_things_are_left_alone(wallets: Path) -> None:
    write_hotkey(wallets, Signer.from_uri("//Other"), "cold", "hot")
    before = (wallets / "cold/hotkeys/hot").read_bytes()
    code, message = install(wallets, os.geteuid())
    assert (code, "holds another key" in message) == (3, True), message
    assert (wallets / "cold/hotkeys/hot").read_bytes() == before
    code, message = install(wallets.parent / "mine", os.geteuid())
    assert (code, "own file" in message) == (3, True), message
    (wallets.parent / "full").mkdir()
    (wallets.parent / "full" / "photo").touch()
    mode = (wallets.parent / "full").stat().st_mode
    code, message = install(wallets.parent / "full", os.geteuid())
    assert (code, "holds other things" in message, (wallets.parent / "full").stat().st_mode) == (3, True, mode), message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may give files away")
def test_who_cannot_give_it_away_is_told_to_use_sudo(wallets: Path) -> None:
    code, message = install(wallets, os.geteuid() + 1)
    assert (code, "run it with sudo" in message, wallets.exists()) == (3, True, False)
