"""What `validator miners …` does: everyone ever seen on the subnet."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from validator.audit.views import MinerView, miner_list
from validator.cli.output import NONE, print_json, print_line
from validator.cli.session import ask_store
from validator.cli.tables import Column, print_table
from validator.cli.unpaid import print_unpaid
from validator.protocol.skill_types import SkillType
from validator.weights.plan import mechanisms

_SHORT: Final = {
    SkillType.RAG_KNOWLEDGE: "rag",
    SkillType.EXECUTABLE_PYTHON: "python",
    SkillType.EXECUTABLE_SCRIPT: "script",
    SkillType.MCP_SERVER: "mcp",
    SkillType.AGENT_COMPOSITION: "composition",
}
"""Names for a heading where the type's own is long."""


def list_(config: Path | None, *, as_json: bool) -> None:
    """List everyone ever seen, highest score first: what it declares and what it stands at."""
    now = datetime.now(UTC)
    found = ask_store(config, lambda tx, settings: miner_list(tx, now, mechanisms(settings.weights)))
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
    print_line("score: the sum of the scores of its types")
    print_line("under a type: reputation, in brackets where the type is not declared now; uid: - where not registered")
    print_unpaid([one for miner in found for one in miner.unpaid])


def _reputation(miner: MinerView, kind: SkillType) -> str | None:
    if kind not in miner.reputations:
        return None
    return f"{miner.reputations[kind]:.3f}" if kind in miner.skill_types else f"({miner.reputations[kind]:.3f})"
