"""`validator miners …`: everyone ever seen on the subnet."""

import typer

from validator.cli.options import Config, Json

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Miners: declarations, reputations, scores.")


@app.callback()
def _miners() -> None:
    """Keep `list` a sub-command although it is the only one."""


@app.command("list")
def list_(config: Config = None, as_json: Json = False) -> None:
    """List everyone ever seen, highest score first: what it declares and what it stands at."""
    from datetime import UTC, datetime

    from validator.audit.views import MinerView, miner_list
    from validator.cli.output import NONE, Column, print_json, print_table
    from validator.cli.session import ask_store

    now = datetime.now(UTC)
    found = ask_store(config, lambda tx, _: miner_list(tx, now))
    if as_json:
        print_json({"miners": found})
        return

    def row(miner: MinerView) -> tuple[object, ...]:
        return (
            miner.hotkey,
            miner.uid if miner.registered else NONE,
            miner.last_seen_block,
            miner.score,
            f"{miner.flags} ejected" if miner.ejected else miner.flags,
            miner.dispatches,
            ", ".join(miner.skill_types) or NONE,
            ", ".join(f"{kind} {value:.3f}" for kind, value in miner.reputations.items()) or NONE,
        )

    columns = (
        Column("hotkey", fold=True),
        Column("uid", right=True),
        Column("seen at block", right=True),
        Column("score", right=True),
        Column("flags", right=True),
        Column("dispatches", right=True),
        Column("declares", fold=True),
        Column("reputation", fold=True),
    )
    print_table(columns, map(row, found))
