"""The whole command line from its declarations, for the index, the reference and the tests; no command runs it."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from validator.cli import (
    audit,
    checks,
    db,
    db_archive,
    db_backup,
    db_check,
    db_export,
    db_size,
    doctor,
    drain,
    executions,
    explain,
    flags,
    groups,
    health,
    init,
    miner_faults,
    miners,
    proof,
    proof_stored,
    replay,
    rounds,
    run,
    score,
    status,
    task_retire,
    task_seed,
    task_serve,
    tasks,
    wallet,
    weights,
    weights_plan,
    worker,
)
from validator.cli.dispatch import JOINED, command_of
from validator.cli.options import group

APP: Final = group("validator", "Scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet.")


@APP.callback()
def _itself(_version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False) -> None:
    """Hold the option, which `dispatch.py` answers."""


ROUNDS = group("rounds", "Rounds: who got which task, and what it came to.")
ROUNDS.command("list")(rounds.list_)
ROUNDS.command("show")(rounds.show)
MINERS = group("miners", "Miners: declarations, reputations, scores, what they find.")
MINERS.command("list")(miners.list_)
MINERS.command("faults")(miner_faults.faults)
FLAGS = group("flags", "Collusion flags: three of them eject a miner.")
FLAGS.command("list")(flags.list_)
FLAGS.command("show")(flags.show)
FLAGS.command("clear")(flags.clear)
EXECUTIONS = group("executions", "Executions: bundles that are run in a sandbox after their round.")
EXECUTIONS.command("list")(executions.list_)
EXECUTIONS.command("show")(executions.show)
EXECUTIONS.command("retry")(executions.retry)
CHECKS = group("checks", "Code checks: code of plans that is judged after its round.")
CHECKS.command("list")(checks.list_)
CHECKS.command("show")(checks.show)
CHECKS.command("retry")(checks.retry)
WEIGHTS = group("weights", "Weights on the chain.")
WEIGHTS.command("show")(weights.show)
WEIGHTS.command("plan")(weights_plan.plan)
WEIGHTS.command("unlock")(weights.unlock)
TASKS = group("tasks", "Tasks: bundles with what is known of them, and workflows.")
TASKS.command("pack")(tasks.pack)
TASKS.command("seed")(task_seed.seed)
TASKS.command("check")(tasks.check)
TASKS.command("retire")(task_retire.retire)
TASKS.command("retired")(task_retire.retired)
TASKS.command("serve")(task_serve.serve)
AUDIT = group("audit", "The log of receipts: export it, verify an export, compare two.")
AUDIT.command("export")(audit.export)
AUDIT.command("verify")(audit.verify)
AUDIT.command("compare")(audit.compare)
SCORE = group("score", "Recompute a score from JSON files: one JSON document per file in, one line per file out.")
SCORE.command("consensus")(score.consensus)
SCORE.command("weights")(score.weights)
SCORE.command("workflow")(score.workflow)
SCORE.command("keys")(score.keys)
SCORE.command("emission")(score.emission)
SCORE.command("collusion")(score.collusion)
SCORE.command("reputation")(score.reputation)
SCORE.command("execution")(score.execution)
PROOF = group("proof", "Consensus proofs: what a group or a debate agreed on, who did not, on which evidence.")
PROOF.command("build")(proof.build)
PROOF.command("verify")(proof.verify)
PROOF.command("show")(proof_stored.show)
PROOF.command("export")(proof_stored.export_)
GROUPS = group("groups", "Verification groups.")
GROUPS.command("select")(groups.select)
DB = group("db", "The store's tables.")
DB.command("upgrade")(db.upgrade_)
DB.command("state")(db.state)
DB.command("copy")(db.copy)
DB.command("prune")(db_size.prune_)
DB.command("archive")(db_archive.archive)
DB.command("forecast")(db_size.forecast_)
DB.command("check")(db_check.check)
DB.command("export")(db_export.export)
DB.command("backup")(db_backup.backup)
DB.command("restore")(db_backup.restore)
WALLET = group("wallet", "Wallet: the hotkey's file where a container reads it.")
WALLET.command("install")(wallet.install)

for command in (
    init.init,
    run.run,
    drain.drain,
    worker.worker,
    replay.replay,
    explain.explain,
    doctor.doctor,
    status.status,
    health.health,
):
    APP.command()(command)
for commands in (ROUNDS, MINERS, FLAGS, EXECUTIONS, CHECKS, WALLET, WEIGHTS, TASKS, AUDIT, SCORE, PROOF, GROUPS, DB):
    APP.add_typer(commands)

TREE: Final[Any] = typer.main.get_command(APP)
_joined: Final[dict[str, dict[str, str]]] = {}
for entry in sorted(entry_points(group=JOINED), key=lambda one: one.name):
    *path, name = entry.name.split(".")
    parent = TREE
    for word in path:
        parent = parent.commands[word]
    parent.add_command(command_of(entry.load(), name))
    _joined[entry.name] = {"entry": entry.name, "distribution": entry.dist.name if entry.dist else ""}


def index() -> dict[str, Any]:
    """Return what `dispatch.py` reads: a node for each command by its words, for `validator` itself by none."""
    with TREE.make_context("validator", ["rounds"], resilient_parsing=True) as context:
        return dict(_nodes(TREE, context, (), {}))


def _nodes(
    command: Any, context: typer.Context, path: Sequence[str], joined: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    joined = _joined.get(".".join(path), joined)
    parameters: dict[str, list[Sequence[str]]] = {}
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            parameters.setdefault(f"{parameter.param_type_name.capitalize()}s", []).append(record)
    node = {
        "help": command.help,
        "usage": " ".join(command.collect_usage_pieces(context)),
        "parameters": parameters,
        **joined,
    }
    if not isinstance(command, TyperGroup):
        node["place"] = f"{command.callback.__module__}:{command.callback.__qualname__}"
    yield " ".join(path), node
    for name, below in getattr(command, "commands", {}).items():
        yield from _nodes(below, context, (*path, name), joined)
