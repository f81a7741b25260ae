"""What `validator weights …` does: what was sent to the chain (SPEC 11)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from validator.audit.views import latest_weights
from validator.cli.configured import settings_of
from validator.cli.errors import say_no
from validator.cli.output import NONE, print_json, print_line
from validator.cli.session import ask_store, change_store
from validator.cli.tables import Column, print_table
from validator.cli.unpaid import print_unpaid
from validator.weights.lock import clear, stop_file_of

WHICH_SCORE: Final = (
    "score: the miner's for what the mechanism pays; the mixed score where it pays assessments and workflows"
)


def show(config: Path | None, mechid: int | None, *, as_json: bool) -> None:
    """Show the newest submission: its fate, scores and weights. Exit 1: there was none yet."""
    now = datetime.now(UTC)
    found = ask_store(
        config,
        lambda tx, settings: latest_weights(tx, settings.weights.assessment_mechid if mechid is None else mechid, now),
    )
    if found is None:
        say_no("no weights were submitted yet")
    if as_json:
        print_json(found)
        return
    block = NONE if found.block is None else found.block
    print_line(f"Submission {found.id}: {found.state}, netuid {found.netuid}, mechanism {found.mechid}")
    print_line(f"epoch {found.epoch}, block {block}, extrinsic {found.extrinsic or NONE}")
    if found.scoring_version:
        print_line(f"computed under scoring version {found.scoring_version}")
    if found.message:
        print_line(f"message: {found.message}")
    columns = (
        Column("hotkey"),
        Column("uid", right=True),
        Column("score", right=True),
        Column("weight", right=True),
    )
    print_table(columns, ((line.hotkey, line.uid, line.score, f"{line.weight:.6f}") for line in found.miners))
    print_line(WHICH_SCORE)
    print_line(f"sum {found.sum:.9f}, unallocated {found.unallocated:.9f}")
    print_unpaid(found.unpaid or ())


def unlock(reason: str, config: Path | None) -> None:
    """Clear the lock that another program's use of the hotkey left. Exit 1: nothing is locked."""
    now = datetime.now(UTC)
    file = stop_file_of(settings_of(config))
    seen = change_store(config, lambda tx, _: clear(tx, file, reason, now))
    if seen is None:
        say_no("nothing to clear: weights are not locked")
    file.unlink(missing_ok=True)
    print_line(f"unlocked; it had been locked because: {seen}")
    print_line("the next start takes the hotkey's last update on chain for its own")
