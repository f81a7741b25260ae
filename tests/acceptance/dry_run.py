"""Settings of a first start on its own chain, and the daemon run on them until a round ended."""

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path

SETTINGS = """
[validator]
netuid = 1
[wallet]
{wallet}
[chain]
kind = "simulated"
state = "{folder}/chain.json"
[store]
url = "sqlite:///{folder}/validator.sqlite"
[rounds]
interval_s = 0.5
[tasks]
directory = "{folder}"
[health]
port = 0
"""


def write_settings(folder: Path, wallet: str = 'uri = "//Validator"') -> Path:
    config = folder / "validator.toml"
    config.write_text(SETTINGS.format(folder=folder, wallet=wallet))
    return config


async def until_a_round_ends(command: list[str], folder: Path, env: Mapping[str, str] | None = None) -> int | None:
    """Run the daemon until a round ended, then ask it to stop; return its exit code."""
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=folder, env=env)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            async for line in process.stdout:
                if b'"round_settled"' in line or b'"round_ended"' in line:
                    break
            process.send_signal(signal.SIGTERM)
            await process.stdout.read()
            return await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
