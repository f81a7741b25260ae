"""The state compared with the records: each copy, and the current one, must follow from the copy before it."""

from sqlalchemy.ext.asyncio import AsyncConnection

from validator.state import State
from validator.store.checking.check import Check
from validator.store.errors import ArchivedError, ArchiveError, DamagedError
from validator.store.repositories.state import NOTHING
from validator.store.stepping import steps
from validator.store.transaction import Transaction


async def look_at_state(connection: AsyncConnection, check: Check) -> None:
    """Step from each copy of the state to the next one, and from the last to the current state."""
    tx = Transaction(connection)
    copies = await tx.state.copies()
    bases: list[int | None] = [*copies] if copies else [None]
    for base, following in zip(bases, (*copies[1:], None), strict=True):
        try:
            state = NOTHING if base is None else await tx.state.copied(base)
            async for round_id, after in steps(tx, base, state, following):
                state = after
                check.looked += round_id is not None
            kept = await tx.state.whole() if following is None else await tx.state.copied(following)
        except (ArchivedError, ArchiveError):
            continue  # what is wrong with a file is told of the archives
        except DamagedError as error:
            check.fault(error.detail)
            continue
        _compare(check, state, kept, "" if following is None else f" of the copy after round {following}")


def _compare(check: Check, computed: State, kept: State, which: str) -> None:
    for hotkey in sorted(computed.miners.keys() | kept.miners.keys()):
        if computed.miners.get(hotkey) != kept.miners.get(hotkey):
            check.fault(f"the state{which} of {hotkey} does not follow from the rounds")
    if computed.shared != kept.shared:
        names = [name for name in kept.shared.__struct_fields__ if _differs(name, computed, kept)]
        check.fault(f"{', '.join(names)} of the state{which} do not follow from the rounds")


def _differs(name: str, one: State, other: State) -> bool:
    return bool(getattr(one.shared, name) != getattr(other.shared, name))
