"""Whether this program can work on a store at all: it must know the version of the newest round (SPEC 16)."""

from validator.scoring import UnknownScoringVersionError, version
from validator.store.errors import DamagedError
from validator.store.transaction import Transaction


async def require_known_version(tx: Transaction) -> None:
    """Refuse a store whose newest frozen round is of a version that this program does not score.

    An input that cannot be read is somebody else's finding.

    Raises:
        UnknownScoringVersionError: naming the round, the version, and what to do.
    """
    try:
        newest = await tx.rounds.newest_frozen()
    except DamagedError:
        return
    if newest is None:
        return
    try:
        version(newest.scoring_version)
    except UnknownScoringVersionError as error:
        fix = "use the program that froze it, or a newer one"
        raise UnknownScoringVersionError(
            f"{error.detail}; round {newest.round_id} of the store has it: {fix}"
        ) from None
