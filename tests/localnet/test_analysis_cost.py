from io import StringIO

from rich.console import Console

from localnet.analysis_cost import BundleEffort, effort_of, print_effort
from miner.analysis_pool import Spent
from sssa.protocol.skill_types import SkillType

SERVER = SkillType.MCP_SERVER
SPENT = [Spent("aa", SERVER, 0.2), Spent("c1", SERVER, 0.1), Spent("aa", SERVER, 0.6), Spent("c2", SERVER, 0.3)]


def test_the_cost_is_told_per_bundle_and_canaries_share_a_line() -> None:
    rows = effort_of(SPENT, {"aa": "notes", "bb": "never asked for"})
    assert rows == (
        BundleEffort("notes", SERVER, 2, 0.4, 0.6),
        BundleEffort("(canaries)", SERVER, 2, 0.2, 0.3),
    )


def test_the_report_has_a_line_per_bundle() -> None:
    page = Console(file=StringIO(), width=120)
    with page.capture() as captured:
        print_effort(effort_of(SPENT, {"aa": "notes"}), page)
    lines = captured.get().split("\n")
    assert lines[1].strip() == "Seconds per analysis"
    assert lines[3].split() == ["notes", "mcp_server", "2", "0.40", "0.60"]
