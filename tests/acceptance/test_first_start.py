"""The first start of an operator who only has settings: one clear line for every fault."""

from pathlib import Path

import pytest
from dry_run import write_settings
from fork_start import ran


@pytest.mark.parametrize(
    ("wallet", "message"),
    [
        ('path = "{folder}"\nname = "public"\nhotkey = "key"', "holds no private key"),
        ('path = "{folder}"\nname = "damaged"\nhotkey = "key"', "damaged or no keyfile"),
    ],
)
def test_a_wallet_that_cannot_be_used_is_one_line(wallet: str, message: str, tmp_path: Path) -> None:
    address = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
    for name, content in (("public", f'{{"ss58Address": "{address}"}}'), ("damaged", "{}")):
        keys = tmp_path / name / "hotkeys"
        keys.mkdir(parents=True)
        (keys / "key").write_text(content)
    done = ran("run", "--config", str(write_settings(tmp_path, wallet.format(folder=tmp_path))))
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_the_local_network_refuses_production_settings(tmp_path: Path) -> None:
    config = write_settings(tmp_path)
    done = ran("devnet", "--config", str(config), "--rounds", "1")
    assert done.returncode == 2
    assert "miners.allow_private_axons must be true" in done.stderr
    assert not (tmp_path / "validator.sqlite").exists()
