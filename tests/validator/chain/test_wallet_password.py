"""An encrypted hotkey is unlocked by a file, and by nothing else; what is wrong is one line without the password."""

import os
from pathlib import Path

import pytest
from bittensor_core import keyfile_data_is_encrypted
from wallet_files import ENCRYPTED, PASSWORD, write_hotkey

from sssa.protocol.signatures import Signer, verify
from validator.chain.wallet import HotkeyEncryptedError, HotkeyPlainError, WalletError, load_signer
from validator.daemon.exits import Exit, exit_code
from validator.settings.load import SettingsError, load_settings
from validator.settings.model import WalletSettings

ME = Signer.from_uri("//Validator")
# The form of earlier wallets; it tells a wrong password at once, the one of today takes two seconds.
VAULT = b"$ANSIBLE_VAULT;1.1;AES256\n00"


def wallet_in(folder: Path, data: bytes, password: bytes | None = None, mode: int = 0o400) -> WalletSettings:
    write_hotkey(folder, ME)
    (folder / "default" / "hotkeys" / "default").write_bytes(data)
    file = folder / "password"
    if password is not None:
        file.write_bytes(password)
        file.chmod(mode)
    return WalletSettings(path=folder, password_file=file)


def refusal(settings: WalletSettings) -> WalletError:
    with pytest.raises(WalletError) as refused:
        load_signer(settings)
    assert len(str(refused.value).splitlines()) == 1
    assert "horse" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return refused.value


def test_the_password_in_a_file_unlocks_it(tmp_path: Path) -> None:
    data = ENCRYPTED.read_bytes()
    assert keyfile_data_is_encrypted(data)
    signer = load_signer(wallet_in(tmp_path, data, PASSWORD.encode() + b"\n"))
    assert signer.hotkey == ME.hotkey
    assert verify(b"x", signer.sign(b"x"), ME.hotkey, "sr25519")


@pytest.mark.parametrize(
    ("password", "mode", "message"),
    [
        (b"another horse", 0o440, "wallet.password_file holds another password"),
        (None, 0, "password: No such file or directory; see wallet.password_file"),
        (b"correct horse", 0o404, "mode 404 lets others at it; chmod 400 "),
        (b"correct horse", 0o660, "mode 660 lets others at it; chmod 400 "),
        (b"\n", 0o400, "password: empty"),
        (b"correct\nhorse", 0o400, "several lines"),
        (b"\xffhorse", 0o400, "not UTF-8"),
        (b"\xef\xbb\xbfhorse\n", 0o400, "begins with a byte order mark; save it as UTF-8 without one"),
        (b"horse\n\n", 0o400, "several lines"),
        (b"\x1b[31mhorse", 0o400, "control characters"),
        (b"horse" * 1000, 0o400, "larger than 4096 bytes"),
    ],
)
def test_what_does_not_unlock_it_is_one_line(password: bytes | None, mode: int, message: str, tmp_path: Path) -> None:
    error = refusal(wallet_in(tmp_path, VAULT, password, mode))
    assert str(error).startswith("The hotkey's file cannot be unlocked: hotkey `default` of wallet `default` in ")
    assert message in str(error)
    assert exit_code(error) == Exit.HOTKEY_ENCRYPTED


def test_a_pipe_holds_nothing_up(tmp_path: Path) -> None:
    settings = wallet_in(tmp_path, VAULT)
    os.mkfifo(tmp_path / "password", 0o400)
    assert "not a plain file" in str(refusal(settings))


def test_no_folder_and_no_device_is_read_as_a_password(tmp_path: Path) -> None:
    settings = wallet_in(tmp_path, VAULT)
    (tmp_path / "password").mkdir(0o500)
    assert "password: Is a directory" in str(refusal(settings))
    device = settings.model_copy(update={"password_file": Path("/dev/zero")})
    assert "/dev/zero: not a plain file" in str(refusal(device))


@pytest.mark.parametrize("key", ["path", "password_file"])
def test_a_home_folder_that_nobody_knows_is_one_line(key: str, tmp_path: Path) -> None:
    settings = wallet_in(tmp_path, VAULT, b"horse").model_copy(update={key: Path("~nobody-of-this-name/x")})
    assert "no home folder is known for ~nobody-of-this-name; write the whole path" in str(refusal(settings))


def test_a_hotkey_s_file_that_is_none_is_not_read_to_its_end(tmp_path: Path) -> None:
    write_hotkey(tmp_path, ME)
    file = tmp_path / "default" / "hotkeys" / "default"
    os.truncate(file, 10_000_000)
    assert str(refusal(WalletSettings(path=tmp_path))).endswith("larger than 65536 bytes, which no hotkey's file is")


def test_a_hotkey_may_come_from_a_pipe(tmp_path: Path) -> None:
    write_hotkey(tmp_path, ME)
    file = tmp_path / "default" / "hotkeys" / "default"
    key = file.read_bytes()
    file.unlink()
    reading, writing = os.pipe()
    os.write(writing, key)
    os.close(writing)
    file.symlink_to(f"/dev/fd/{reading}")
    assert load_signer(WalletSettings(path=tmp_path)).hotkey == ME.hotkey
    os.close(reading)


def test_a_password_for_a_hotkey_that_is_not_encrypted_is_refused(tmp_path: Path) -> None:
    plain = WalletSettings(path=tmp_path)
    write_hotkey(tmp_path, ME)
    assert load_signer(plain).hotkey == ME.hotkey
    error = refusal(plain.model_copy(update={"password_file": tmp_path / "none"}))
    assert isinstance(error, HotkeyPlainError)
    assert "encrypt it, or remove wallet.password_file" in str(error)


def test_without_a_file_the_refusal_names_the_setting(tmp_path: Path) -> None:
    error = refusal(wallet_in(tmp_path, VAULT).model_copy(update={"password_file": None}))
    assert isinstance(error, HotkeyEncryptedError)
    assert "wallet.password_file" in str(error)


def test_a_damaged_file_is_told_from_a_wrong_password(tmp_path: Path) -> None:
    error = refusal(wallet_in(tmp_path, b"$NACL" + b"x" * 8, PASSWORD.encode()))
    assert str(error).endswith("the file is damaged or no keyfile")
    assert exit_code(error) == Exit.NOT_READY


def test_its_variable_names_the_file_and_no_variable_holds_the_password(tmp_path: Path) -> None:
    config = tmp_path / "validator.toml"
    config.write_text("[validator]\nnetuid = 1\n")
    settings = load_settings(config, {"VALIDATOR_WALLET__PASSWORD_FILE": "/run/secrets/hotkey_password"})
    assert settings.wallet.password_file == Path("/run/secrets/hotkey_password")
    with pytest.raises(
        SettingsError, match="VALIDATOR_WALLET__PASSWORD: sets nothing; did you mean VALIDATOR_WALLET__PASSWORD_FILE"
    ):
        load_settings(config, {"VALIDATOR_WALLET__PASSWORD": "hunter2"})
