"""The peer's side of `python -m peers`: bittensor 10's dendrite, in its own environment.

Reads how many calls to make at once, a line each; prints calls a second, microseconds of CPU each and milliseconds of
wall clock beyond the slowest answer.
"""

import asyncio
import importlib
import itertools
import os
import sys
import time
import types
from typing import Any

os.environ["BT_NO_PARSE_CLI_ARGS"] = "1"  # it reads this script's arguments otherwise
bittensor: Any = importlib.import_module("bittensor")
wallets: Any = importlib.import_module("bittensor_wallet")
networking: Any = importlib.import_module("bittensor.utils.networking")
networking.get_external_ip = lambda: "127.0.0.1"  # it asks services on the internet for it

PATIENCE_S = 60.0


def assessment() -> Any:
    """Return the class of the request: a field of 50 KB, one for the answer."""
    fields = {"__annotations__": {"bundle": str, "answer": str}, "bundle": "", "answer": ""}
    return types.new_class("Assessment", (bittensor.Synapse,), {}, lambda namespace: namespace.update(fields))


async def turn(dendrite: Any, kind: Any, axons: list[Any], body: str, many: int) -> tuple[float, float, float]:
    """Make so many calls at once."""

    async def one(axon: Any) -> float:
        began = time.perf_counter()
        answered = await dendrite.call(axon, kind(bundle=body), timeout=PATIENCE_S, deserialize=False)
        if not answered.answer:
            raise RuntimeError(f"{answered.dendrite.status_code}: {answered.dendrite.status_message}")
        return time.perf_counter() - began

    began, cpu = time.perf_counter(), time.process_time()
    slowest = max(await asyncio.gather(*(one(axon) for axon in itertools.islice(itertools.cycle(axons), many))))
    wall = time.perf_counter() - began
    return many / wall, 1e6 * (time.process_time() - cpu) / many, 1e3 * (wall - slowest)


async def serve(ports: list[int], size: int) -> None:
    """Make calls as standard input asks for them."""
    bittensor.logging.off()
    keypair = wallets.Keypair.create_from_uri("//Validator")
    axons = [
        bittensor.AxonInfo(
            version=1, ip="127.0.0.1", port=port, ip_type=4, hotkey=keypair.ss58_address, coldkey=keypair.ss58_address
        )
        for port in ports
    ]
    kind, body = assessment(), "0" * size
    async with bittensor.Dendrite(wallet=keypair) as dendrite:
        print(f"dendrite of bittensor {bittensor.__version__}", flush=True)
        for line in sys.stdin:
            print(*await turn(dendrite, kind, axons, body, int(line)), flush=True)


if __name__ == "__main__":
    asyncio.run(serve([int(port) for port in sys.argv[2:]], int(sys.argv[1])))
