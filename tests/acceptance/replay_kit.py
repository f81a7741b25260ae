"""Replaying whole runs of the local network: on both databases, and with another Python."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "config" / "demo.toml"
_PROGRAM = "from validator.cli import main; main()"
_SUPPORTED = re.compile(r"3\.(1[1-9])(\.\d+)?")


def started(url: str, *arguments: str, python: str = sys.executable) -> subprocess.Popen[str]:
    """Start the command line on a store."""
    environment = os.environ | {"VALIDATOR_STORE__URL": url, "PYTHONPATH": str(ROOT)}
    command = [python, "-c", _PROGRAM, *arguments, "--config", str(DEMO)]
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(python).parent
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for its end; return exit code and what it wrote."""
    out, err = process.communicate()
    return process.returncode, out, err


def replayed(url: str, python: str = sys.executable) -> str:
    """The lines of `replay --all --json`, every round equal."""
    code, out, err = ended(started(url, "replay", "--all", "--json", python=python))
    assert code == 0, err + out[-3000:]
    assert "Traceback" not in err
    rounds: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert [found["round_id"] for found in rounds] == list(range(len(rounds)))
    assert all(found["verdict"] == "equal" for found in rounds if found["state"] == "settled")
    assert all(found["pruned"] == 0 for found in rounds)
    return out


def copied(url: str, target: str) -> None:
    """Copy a store with the command."""
    code, _, err = ended(started(url, "db", "copy", target))
    assert code == 0, err


def other_pythons() -> dict[str, str]:
    """Minor version to interpreter of every supported Python on this machine but the running one."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {match[1]: path for path in sorted(versions.glob("3.*/bin/python")) if (match := _supported(path))}
    for minor in range(11, 20):
        path = shutil.which(f"python3.{minor}")
        if path is not None and Path(path).resolve().exists():
            found.setdefault(str(minor), Path(path))
    found.pop(str(sys.version_info.minor), None)
    return {f"3.{minor}": str(path) for minor, path in found.items() if _runs(path)}


def environment_of(python: str, folder: Path) -> str:
    """A throwaway environment with the locked requirements; returns its interpreter."""
    uv = Path(sys.executable).parent / "uv"
    subprocess.run([uv, "venv", "--quiet", "--python", python, folder], check=True)
    own = folder / "bin" / "python"
    locked = ["--require-hashes", "-r", str(ROOT / "requirements" / "runtime.txt")]
    subprocess.run([uv, "pip", "install", "--quiet", "--python", own, *locked], check=True)
    return str(own)


def _supported(path: Path) -> re.Match[str] | None:
    return _SUPPORTED.fullmatch(path.parents[1].name)


def _runs(path: Path) -> bool:
    done = subprocess.run([path, "-c", "import ssl, zlib, venv"], capture_output=True, check=False)
    return done.returncode == 0
