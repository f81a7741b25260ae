"""A process that runs an image until it is killed: `python sandbox_child.py IMAGE DIGEST OWNER`."""

import asyncio
import sys

from engine_kit import Registry, job_of, sandbox_at

from sssa.protocol.runtime_image import RuntimeImage


async def main(image: str, digest: str, owner: str) -> None:
    registry = Registry(image.partition("/")[0])
    job = await job_of(registry, "sleep 98765", of=RuntimeImage(image, digest))
    await sandbox_at(owner).run(job)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
