"""`validator weights …`: the weights on chain, those to be sent next (SPEC 11), and their lock; sends none itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sssa.cli.errors import say_no
from sssa.cli.options import Config, Json, group
from sssa.cli.output import NONE, picked, print_json, print_line
from sssa.cli.rendering import print_rows
from validator.audit.views import latest_weights
from validator.cli.session import ask_store, change_store, settings_of
from validator.store.rows import DescribedUnpaid

if TYPE_CHECKING:
    from validator.weights.preview import PlanView

_FACTS: Final = "id netuid mechid epoch state row_state block message extrinsic created_at updated_at"
WEIGHTS = group()
_WHICH_SCORE: Final = (
    "score: the miner's for what the mechanism pays; the mixed score where it pays assessments and workflows"
)


@WEIGHTS.command()
def show(
    config: Config = None,
    mechid: Annotated[
        int | None, typer.Option("--mechid", metavar="ID", help="The mechanism; else that of assessments.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the newest submission: its fate, scores and weights. Exit 1: there was none yet."""
    weights = ask_store(
        config,
        lambda tx, settings: latest_weights(tx, settings.weights.assessment_mechid if mechid is None else mechid),
    )
    if weights is None:
        say_no("no weights were submitted yet")
    if as_json:
        shares = {"sum": weights.sum, "unallocated": weights.record.unallocated}
        print_json({**picked(weights.record, _FACTS), **shares, **picked(weights, "miners scoring_version unpaid")})
        return
    record = weights.record
    block = NONE if record.block is None else record.block
    print_line(f"Submission {record.id}: {record.shown_state}, netuid {record.netuid}, mechanism {record.mechid}")
    print_line(f"epoch {record.epoch}, block {block}, extrinsic {record.extrinsic or NONE}")
    if weights.scoring_version:
        print_line(f"computed under scoring version {weights.scoring_version}")
    if record.message:
        print_line(f"message: {record.message}")
    print_rows("hotkey uid> score> weight:.6f>", weights.miners)
    print_line(_WHICH_SCORE)
    print_line(f"sum {weights.sum:.9f}, unallocated {record.unallocated:.9f}")
    print_unpaid(weights.unpaid or ())


def print_unpaid(windows: Sequence[DescribedUnpaid]) -> None:
    """Print a table of unpaid windows, the meaning of each reason and its remedy; nothing if all are paid."""
    if not windows:
        return
    print_line()
    print_line("not paid:")
    print_rows("hotkey type=skill_type reason since_epoch=since_epoch> round=since_round> detail", windows)
    for reason, meaning, remedy in dict.fromkeys((one.reason, one.meaning, one.remedy) for one in windows):
        print_line(f"{reason}: {meaning or ''} {remedy or ''}".rstrip())


@WEIGHTS.command()
def plan(config: Config = None, as_json: Json = False) -> None:
    """Show what would be sent now against what is on chain; sends nothing. A validator may be running."""
    from validator.weights.preview import plan_of  # noqa: PLC0415 - it asks the chain, whose client takes a second

    views = ask_store(config, plan_of)
    if as_json:
        print_json({"mechanisms": views})
        return
    for view in views:
        _print_plan(view)


def _print_plan(view: "PlanView") -> None:
    end = NONE if view.epoch_end is None else view.epoch_end
    print_line(f"Plan for netuid {view.netuid}, mechanism {view.mechid}, at block {view.block}")
    state = "nothing submitted yet" if view.state is None else f"its submission: {view.state}"
    print_line(f"epoch {view.epoch} until block {end}, due at {view.due_block}, in {view.blocks_until} blocks; {state}")
    print_line(f"computed under scoring version {view.scoring_version}")
    if view.commit_reveal:
        print_line("weights are committed first: what is on chain shows them only once they are revealed")
    for blocker in view.blockers:
        detail = f" ({blocker.detail})" if blocker.detail else ""
        print_line(f"not now: {blocker.reason}: {blocker.meaning}{detail}")
    print_rows("uid> hotkey score> planned:.6f> u16=planned_u16> on_chain=on_chain:.6f> difference:+.6f>", view.lines)
    print_line(_WHICH_SCORE)
    print_line(f"unallocated {view.unallocated:.9f}, taken by {view.owner or 'nobody'}")
    print_unpaid(view.unpaid)
    print_line()


@WEIGHTS.command()
def unlock(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; stored with the lock.")],
    config: Config = None,
) -> None:
    """Clear the lock that another program's use of the hotkey left. Exit 1: nothing is locked."""
    from validator.weights.watch import clear, stop_file_of  # noqa: PLC0415 - only this command needs the lock

    now = datetime.now(UTC)
    file = stop_file_of(settings_of(config))
    lock_reason = change_store(config, lambda tx, _: clear(tx, file, reason, now))
    if lock_reason is None:
        say_no("nothing to clear: weights are not locked")
    file.unlink(missing_ok=True)
    print_line(f"unlocked; it had been locked because: {lock_reason}")
    print_line("the next start takes the hotkey's last update on chain for its own")
