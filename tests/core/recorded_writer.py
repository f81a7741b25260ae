"""The process whose writes are recorded: numbered writes of many pages; each acknowledgement is recorded as well."""

import asyncio
import os
import random
import sys

from numbered_writes import moment
from power_cuts import ACKNOWLEDGED, HEAD
from sqlalchemy import delete, insert

from validator.store import Transaction, open_store
from validator.store.tables import bundles

KEPT = 20  # bundles; older ones are deleted, so that pages are used again


async def main(url: str, writes: int) -> None:
    chance = random.Random(writes)
    record = os.open(os.environ["RECORD"], os.O_WRONLY | os.O_APPEND)
    async with open_store(url, writer=True, create=True) as store:
        for number in range(writes):
            data = chance.randbytes(chance.choice((100, 5_000, 60_000)))

            async def write(tx: Transaction, number: int = number, data: bytes = data) -> None:
                await tx.drains.ask(moment(number))
                row = {"sha256": str(number), "data": data, "stored_at": moment(number)}
                await tx.connection.execute(insert(bundles).values(row))
                await tx.connection.execute(delete(bundles).where(bundles.c.sha256 == str(number - KEPT)))

            await store.lasting(write)
            os.write(record, HEAD.pack(ACKNOWLEDGED, b"-", number, 0))
        os._exit(0)  # as a machine without power: nothing is closed


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
