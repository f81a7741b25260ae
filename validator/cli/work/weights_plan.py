"""What `validator weights plan` does: what would be sent now (SPEC 11)."""

from pathlib import Path

from validator.cli.output import NONE, print_json, print_line
from validator.cli.session import ask_store
from validator.cli.tables import Column, print_table
from validator.cli.unpaid import print_unpaid
from validator.cli.work.weights import WHICH_SCORE
from validator.daemon.planning import plan_of
from validator.weights.preview import PlanView


def plan(config: Path | None, *, as_json: bool) -> None:
    """Show what would be sent now against what is on chain; sends nothing. A validator may be running."""
    found = ask_store(config, plan_of)
    if as_json:
        print_json({"mechanisms": found})
        return
    for view in found:
        _print(view)


def _print(view: PlanView) -> None:
    end = NONE if view.epoch_end is None else view.epoch_end
    print_line(f"Plan for netuid {view.netuid}, mechanism {view.mechid}, at block {view.block}")
    state = "nothing submitted yet" if view.state is None else f"its submission: {view.state}"
    print_line(f"epoch {view.epoch} until block {end}, due at {view.due_block}, in {view.blocks_until} blocks; {state}")
    print_line(f"computed under scoring version {view.scoring_version}")
    if view.commit_reveal:
        print_line("weights are committed first: what is on chain shows them only once they are revealed")
    for standing in view.hindrances:
        detail = f" ({standing.detail})" if standing.detail else ""
        print_line(f"not now: {standing.reason}: {standing.meaning}{detail}")
    columns = (
        Column("uid", right=True),
        Column("hotkey"),
        Column("score", right=True),
        Column("planned", right=True),
        Column("u16", right=True),
        Column("on chain", right=True),
        Column("difference", right=True),
    )
    print_table(
        columns,
        (
            (
                line.uid,
                line.hotkey,
                line.score,
                f"{line.planned:.6f}",
                line.planned_u16,
                f"{line.on_chain:.6f}",
                f"{line.difference:+.6f}",
            )
            for line in view.lines
        ),
    )
    print_line(WHICH_SCORE)
    print_line(f"unallocated {view.unallocated:.9f}, taken by {view.owner or 'nobody'}")
    print_unpaid(view.unpaid)
    print_line()
