"""`validator miners …`: everyone ever seen on the subnet."""

from typing import TYPE_CHECKING, Final

import typer

from validator.cli.options import Config, Json
from validator.protocol.skill_types import SkillType

if TYPE_CHECKING:
    from validator.audit.views import MinerView

_SHORT: Final = {
    SkillType.RAG_KNOWLEDGE: "rag",
    SkillType.EXECUTABLE_PYTHON: "python",
    SkillType.EXECUTABLE_SCRIPT: "script",
    SkillType.MCP_SERVER: "mcp",
    SkillType.AGENT_COMPOSITION: "composition",
}
"""Names for a heading where the type's own is long."""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Miners: declarations, reputations, scores.")


@app.callback()
def _miners() -> None:
    """Keep `list` a sub-command although it is the only one."""


@app.command("list")
def list_(config: Config = None, as_json: Json = False) -> None:
    """List everyone ever seen, highest score first: what it declares and what it stands at."""
    from datetime import UTC, datetime

    from validator.audit.views import miner_list
    from validator.cli.output import NONE, Column, print_json, print_line, print_table
    from validator.cli.session import ask_store

    now = datetime.now(UTC)
    found = ask_store(config, lambda tx, _: miner_list(tx, now))
    if as_json:
        print_json({"miners": found})
        return

    def row(miner: "MinerView") -> tuple[object, ...]:
        return (
            miner.hotkey,
            miner.uid if miner.registered else NONE,
            miner.last_seen_block,
            miner.score,
            f"{miner.flags} ejected" if miner.ejected else miner.flags,
            miner.dispatches,
            *(_reputation(miner, kind) for kind in SkillType),
        )

    columns = (
        Column("hotkey"),
        Column("uid", right=True),
        Column("seen at block", right=True),
        Column("score", right=True),
        Column("flags", right=True),
        Column("dispatches", right=True),
        *(Column(_SHORT.get(kind, str(kind)), right=True) for kind in SkillType),
    )
    print_table(columns, map(row, found))
    print_line("under a type: reputation, in brackets where the type is not declared now; uid: - where not registered")


def _reputation(miner: "MinerView", kind: SkillType) -> str | None:
    if kind not in miner.reputations:
        return None
    return f"{miner.reputations[kind]:.3f}" if kind in miner.skill_types else f"({miner.reputations[kind]:.3f})"
