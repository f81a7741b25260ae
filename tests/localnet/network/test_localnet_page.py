"""docs/localnet.md, followed to the letter: on a chain in memory, and with SUBTENSOR_URL on a real node."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dev_chain import DevChain
from page_commands import ROOT, commands, composed, validator

NODE = os.environ.get("SUBTENSOR_URL")
URL = "ws://127.0.0.1:9944"
QUICKLY = ["--tempo", "30", "--miners", "3", "--type", "declarative"]
OWN = [".venv/bin/validator", "devnet", "--tasks"]
ELSEWHERE = {"make setup"}  # every test runs in what it makes


class Page:
    """Follows the page in its own folder; `up` is what its main command printed."""

    def __init__(self, folder: Path, chain: DevChain | None) -> None:
        self.folder = folder
        self.chain = chain
        self.up: Any = None

    def follow(self, argv: list[str]) -> None:
        if argv[:2] == ["docker", "compose"]:
            assert argv[2:4] == ["--profile", "localnet"]
            if shutil.which("docker-compose"):
                assert f"  {argv[-1]}:\n" in composed("localnet")
        elif argv[:3] == OWN:
            return  # tests/localnet/own/test_own_network.py runs it: it needs no node
        elif argv[0].endswith("validator"):
            self._validator([NODE if NODE and word == URL else word for word in argv[1:]])
        elif argv[0] == "rm":
            subprocess.run(argv, cwd=self.folder, check=True)
        else:
            assert " ".join(argv) in ELSEWHERE

    def _validator(self, argv: list[str]) -> None:
        bringing = argv[:2] == ["localnet", "up"]
        doing = bringing and "--dry-run" not in argv
        extra = [*(QUICKLY if bringing and self.chain else []), *(["--json"] if doing else [])]
        code, printed = validator([*argv, *extra])
        assert code == 0, (argv, printed)
        assert printed.strip(), argv
        if doing:
            self.up = json.loads(printed)
            self.look()

    def look(self) -> None:
        """The main command reported correctly: miners have weight on chain, and it is what was planned."""
        rows = self.up["rows"]
        miners = [row for row in rows if (row["who"] or "").startswith("miner")]
        assert self.up["equal"]
        assert self.up["paid"] == len([row for row in miners if row["on_chain"]]) > 0
        assert all(row["equal"] for row in rows)
        assert self.up["reasons"].get("accepted", 0) > 0
        if self.chain is not None:
            stored = self.chain.subnet.weights(0, self.up["validator_uid"])
            assert stored == {row["uid"]: row["on_chain"] for row in rows if row["on_chain"]}
            assert len(miners) == self.up["paid"] == 3


@pytest.mark.parametrize("kind", ["in memory", "node"])
def test_the_page_leads_to_weights_on_chain(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chain = None
    if kind == "in memory":
        monkeypatch.setattr(f"{__name__}.NODE", None)
        chain = DevChain(0.1)
        node = chain
        for substrate in ("bittensor.client.RpcSubstrate", "validator.chain.connection.NodeSubstrate"):
            monkeypatch.setattr(substrate, lambda *_, **__: node.connect())
    elif NODE is None:
        pytest.skip("SUBTENSOR_URL is not set: no real node")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("bittensor.config.DEFAULT_TOKEN_SYMBOLS_PATH", tmp_path / "symbols.json")
    monkeypatch.chdir(tmp_path)
    page = Page(tmp_path, chain)
    for argv in commands():
        page.follow(argv)
    assert page.up is not None
    assert not (tmp_path / "localnet-run").exists()
    target = (ROOT / "Makefile").read_text().partition("\ntest-chain:")[2].partition("\n\n")[0]
    assert str(Path(__file__).parent.relative_to(ROOT)) in target
