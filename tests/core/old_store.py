"""A store and its log as the program left them before a scoring version was a value: three rounds under 1.0.0.

Both kinds of task, every skill type, run by `validator devnet --config config/demo.toml --rounds 3`. Beside them stand
what `replay --all --json` said of the rounds at the time, and a digest of everybody's explanations.
"""

import hashlib
import lzma
from pathlib import Path
from typing import Final

import msgspec

from validator.audit.explain import explain_round
from validator.store import Store

FOLDER: Final = Path(__file__).parents[1] / "fixtures" / "version_1_0_0"
ROUNDS: Final = 3


def unpacked(name: str, folder: Path) -> Path:
    """One of the packed files, as it was."""
    path = folder / name
    path.write_bytes(lzma.decompress((FOLDER / f"{name}.xz").read_bytes()))
    return path


def recorded(name: str) -> list[str]:
    """The lines of one of the files that say what came of it at the time."""
    return (FOLDER / name).read_text().splitlines()


async def explained(store: Store, round_id: int) -> str:
    """The sha256 of what a round's explanations of everybody in it say, hotkey by hotkey."""
    pages = hashlib.sha256()
    async with store.read() as tx:
        stored = await tx.rounds.get(round_id)
        assert stored is not None
        assert stored.input is not None
        for miner in stored.input.miners:
            found = await explain_round(tx, round_id, miner.hotkey)
            assert all(task.as_stored for task in found.tasks)
            pages.update(msgspec.json.encode(found))
    return pages.hexdigest()
