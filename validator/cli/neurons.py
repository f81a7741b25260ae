"""`validator neurons …`: everyone ever seen on the subnet, and the faults that they find. Reads the store."""

from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from sssa.cli.options import Config, Json, group
from sssa.cli.output import NONE, print_json, print_line
from sssa.cli.rendering import Column, columns, print_table, progress
from sssa.protocol.skill_types import SkillType
from validator.audit.views import FaultList, FaultShare, MinerView, fault_list, miner_list
from validator.cli.session import ask_store
from validator.cli.weights import print_unpaid
from validator.weights.plan import mechanisms

NEURONS = group()
_SHORT: Final = {
    SkillType.RAG_KNOWLEDGE: "rag",
    SkillType.EXECUTABLE_PYTHON: "python",
    SkillType.EXECUTABLE_SCRIPT: "script",
    SkillType.MCP_SERVER: "mcp",
    SkillType.AGENT_COMPOSITION: "composition",
}
"""Names for a heading where the type's own is long."""


@NEURONS.command("list")
def list_(config: Config = None, as_json: Json = False) -> None:
    """List everyone ever seen, highest score first: its declarations and scores."""
    now = datetime.now(UTC)
    miners = ask_store(config, lambda tx, settings: miner_list(tx, now, mechanisms(settings.weights)))
    if as_json:
        print_json({"miners": miners})
        return
    kinds = [Column(_SHORT.get(kind, str(kind)), right=True) for kind in SkillType]
    print_table([*columns("hotkey uid> seen_at_block> score> flags> dispatches>"), *kinds], map(_cells, miners))
    print_line("score: the sum of the scores of its types")
    print_line("under a type: reputation, in brackets where the type is not declared now; uid: - where not registered")
    print_unpaid([one for miner in miners for one in miner.unpaid])


def _cells(miner: MinerView) -> tuple[object, ...]:
    uid = miner.uid if miner.registered else NONE
    flags = f"{miner.flags} ejected" if miner.ejected else miner.flags
    reputations = (_reputation(miner, kind) for kind in SkillType)
    return miner.hotkey, uid, miner.last_seen_block, miner.score, flags, miner.dispatches, *reputations


def _reputation(miner: MinerView, kind: SkillType) -> str | None:
    if kind not in miner.reputations:
        return None
    return f"{miner.reputations[kind]:.3f}" if kind in miner.skill_types else f"({miner.reputations[kind]:.3f})"


@NEURONS.command()
def faults(
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="How many of the newest rounds.")] = 100,
    kinds: Annotated[bool, typer.Option("--kinds", help="A line for every kind of fault, over all miners.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show how often each miner found the faults that bundles are known to have. None of it is scored."""
    with progress("reading rounds", rounds) as step:
        listed = ask_store(config, lambda tx, _: fault_list(tx, rounds, step))
    if as_json:
        print_json(listed)
        return
    if not listed.tasks:
        print_line(
            f"no task of the last {listed.rounds} settled rounds says what there is to find: "
            "`validator tasks seed` makes such tasks, and canaries are such (SPEC 16, D-33)"
        )
        return
    if kinds:
        _print_kinds(listed)
    else:
        _print_miners(listed)
    print_line(
        f"of {listed.tasks} tasks in {listed.rounds} settled rounds; answers that passed the gates; nothing is scored"
    )


def _print_kinds(faults: FaultList) -> None:
    hardest_first = sorted(faults.kinds.items(), key=lambda one: (one[1].matched / max(1, one[1].known), one[0]))
    finders = {
        kind: sum(kind in miner.kinds and miner.kinds[kind].matched > 0 for miner in faults.miners)
        for kind in faults.kinds
    }
    print_table(
        "kind_of_fault found> of> share> found_by>",
        ((kind, share.matched, share.known, _percent(share), finders[kind]) for kind, share in hardest_first),
    )
    print_line("hardest first; found by: how many miners found it at least once")


def _print_miners(faults: FaultList) -> None:
    families = sorted({family for miner in faults.miners for family in miner.families})
    by_family = [Column(name, right=True) for name in families]
    print_table(
        [*columns("hotkey answers> found> share>"), *by_family, *columns("others>")],
        (
            (
                miner.hotkey,
                miner.answers,
                _of(miner.total),
                _percent(miner.total),
                *(_of(miner.families.get(family)) for family in families),
                miner.unmatched,
            )
            for miner in faults.miners
        ),
    )
    print_line("others: false alarms, findings that name no known fault; --kinds lists the kinds of fault")


def _of(share: FaultShare | None) -> str:
    return NONE if share is None else f"{share.matched}/{share.known}"


def _percent(share: FaultShare) -> str:
    return NONE if not share.known else f"{share.matched / share.known:.0%}"
