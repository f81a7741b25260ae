"""`validator weights …`: what was sent to the chain (SPEC 11)."""

from typing import TYPE_CHECKING, Annotated

import typer

from validator.cli.options import Config, Json

if TYPE_CHECKING:
    from validator.weights.preview import PlanView

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Weights on the chain.")


@app.command()
def show(
    config: Config = None,
    mechid: Annotated[
        int | None,
        typer.Option("--mechid", metavar="ID", help="The mechanism; else that of assessments.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the newest submission: its fate, scores and weights. Exit 1: there was none yet."""
    from datetime import UTC, datetime

    from validator.audit.views import latest_weights
    from validator.cli.errors import say_no
    from validator.cli.output import NONE, Column, print_json, print_line, print_table
    from validator.cli.session import ask_store

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
    if found.message:
        print_line(f"message: {found.message}")
    columns = (
        Column("hotkey"),
        Column("uid", right=True),
        Column("score", right=True),
        Column("weight", right=True),
    )
    print_table(columns, ((line.hotkey, line.uid, line.score, f"{line.weight:.6f}") for line in found.miners))
    print_line(f"sum {found.sum:.9f}, unallocated {found.unallocated:.9f}")


@app.command()
def plan(config: Config = None, as_json: Json = False) -> None:
    """Show what would be sent now against what is on chain; sends nothing. A validator may be running."""
    from validator.cli.output import print_json
    from validator.cli.session import ask_store
    from validator.daemon.planning import plan_of

    found = ask_store(config, plan_of)
    if as_json:
        print_json({"mechanisms": found})
        return
    for view in found:
        _print(view)


@app.command()
def unlock(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; stored with the lock.")],
    config: Config = None,
) -> None:
    """Clear the lock that another program's use of the hotkey left. Exit 1: nothing is locked."""
    from datetime import UTC, datetime

    from validator.cli.errors import say_no
    from validator.cli.output import print_line
    from validator.cli.session import change_store, settings_of
    from validator.weights.lock import clear, stop_file_of

    now = datetime.now(UTC)
    file = stop_file_of(settings_of(config))
    seen = change_store(config, lambda tx, _: clear(tx, file, reason, now))
    if seen is None:
        say_no("nothing to clear: weights are not locked")
    file.unlink(missing_ok=True)
    print_line(f"unlocked; it had been locked because: {seen}")
    print_line("the next start takes the hotkey's last update on chain for its own")


def _print(view: "PlanView") -> None:
    from validator.cli.output import NONE, Column, print_line, print_table

    end = NONE if view.epoch_end is None else view.epoch_end
    print_line(f"Plan for netuid {view.netuid}, mechanism {view.mechid}, at block {view.block}")
    state = "nothing submitted yet" if view.state is None else f"its submission: {view.state}"
    print_line(f"epoch {view.epoch} until block {end}, due at {view.due_block}, in {view.blocks_until} blocks; {state}")
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
    print_line(f"unallocated {view.unallocated:.9f}, taken by {view.owner or 'nobody'}")
    print_line()
