"""Every command: its name, its line in the lists, and where it is. A test holds each line to the command's own help."""

from typing import Annotated, Any, Final

import typer

from validator import __version__
from validator.cli.lazy import Group, Lazy


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


def _options() -> list[Any]:
    """Return the options of `validator` itself."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.callback()
    def _itself(
        _version: Annotated[
            bool,
            typer.Option("--version", help="Print the version and end.", callback=_say_version, is_eager=True),
        ] = False,
    ) -> None:
        """Hold the option."""

    return typer.main.get_group(app).params


ROUNDS: Final = Group(
    "rounds",
    "Rounds: who got which task, and what it came to.",
    [
        Lazy("list", "List rounds, newest first.", "validator.cli.rounds:list_"),
        Lazy(
            "show",
            "Show a round: groups, exclusions, dispatches with reasons and scores, flags, reputation.",
            "validator.cli.rounds:show",
        ),
    ],
)
MINERS: Final = Group(
    "miners",
    "Miners: declarations, reputations, scores, what they find.",
    [
        Lazy(
            "list",
            "List everyone ever seen, highest score first: what it declares and what it stands at.",
            "validator.cli.miners:list_",
        ),
        Lazy(
            "faults",
            "Show how often each miner found the faults that bundles are known to have.",
            "validator.cli.miner_faults:faults",
        ),
    ],
)
FLAGS: Final = Group(
    "flags",
    "Collusion flags: three of them eject a miner.",
    [
        Lazy("list", "List the standing flags, oldest first.", "validator.cli.flags:list_"),
        Lazy("show", "Show flags with the agreements that led to them, cleared ones too.", "validator.cli.flags:show"),
        Lazy("clear", "Clear all standing flags of a hotkey.", "validator.cli.flags:clear"),
    ],
)
EXECUTIONS: Final = Group(
    "executions",
    "Executions: bundles that are run in a sandbox after their round.",
    [
        Lazy(
            "list",
            "List executions, newest round first, with how many there are in each state.",
            "validator.cli.executions:list_",
        ),
        Lazy(
            "show",
            "Show an execution: the runs next to what each miner's traces claim.",
            "validator.cli.executions:show",
        ),
        Lazy(
            "retry",
            "Execute a task again now: one that waits, or one that ended inconclusive.",
            "validator.cli.executions:retry",
        ),
    ],
)
CHECKS: Final = Group(
    "checks",
    "Code checks: code of plans that is judged after its round.",
    [
        Lazy(
            "list",
            "List code checks, newest round first, with how many there are in each state.",
            "validator.cli.checks:list_",
        ),
        Lazy("show", "Show a code check: what became of it, and what it is worth.", "validator.cli.checks:show"),
        Lazy(
            "retry",
            "Try a code check again now: one that waits, or one that ended inconclusive.",
            "validator.cli.checks:retry",
        ),
    ],
)
WEIGHTS: Final = Group(
    "weights",
    "Weights on the chain.",
    [
        Lazy("show", "Show the newest submission: its fate, scores and weights.", "validator.cli.weights:show"),
        Lazy(
            "plan",
            "Show what would be sent now against what is on chain; sends nothing.",
            "validator.cli.weights_plan:plan",
        ),
        Lazy("unlock", "Clear the lock that another program's use of the hotkey left.", "validator.cli.weights:unlock"),
    ],
)
TASKS: Final = Group(
    "tasks",
    "Tasks: bundles with what is known of them, and workflows.",
    [
        Lazy(
            "pack",
            "Make a task of what is there or is fetched: task.json and bundle.tar.gz. Nothing of it is run.",
            "validator.cli.tasks:pack",
        ),
        Lazy(
            "draft",
            "Draft the truth of a packed task: what can be read, and TODO where a person decides.",
            "miner",
            entry="tasks.draft",
        ),
        Lazy(
            "seed",
            "Plant known faults in benign bundles, and write tasks whose truth names all of them.",
            "validator.cli.task_seed:seed",
        ),
        Lazy(
            "goals",
            "Write the benchmark's goals as workflow.json for services of your own.",
            "miner",
            entry="tasks.goals",
        ),
        Lazy("check", "Check tasks: one line per problem.", "validator.cli.tasks:check"),
        Lazy(
            "retire",
            "Retire tasks of past rounds: public exports show their truth, and this validator never gives them again.",
            "validator.cli.task_retire:retire",
        ),
        Lazy("retired", "List the retired tasks.", "validator.cli.task_retire:retired"),
        Lazy(
            "serve",
            "Run a task server until it is interrupted; its hotkey signs every list of tasks.",
            "validator.cli.task_serve:serve",
        ),
    ],
)
AUDIT: Final = Group(
    "audit",
    "The log of receipts: export it, verify an export, compare two.",
    [
        Lazy(
            "export",
            "Write receipts, inputs, groups, answers, scores and proofs as JSON lines; a validator may be running.",
            "validator.cli.audit:export",
        ),
        Lazy("verify", "Check an export with nothing but the file.", "validator.cli.audit:verify"),
        Lazy("compare", "Say whether two exports tell one history.", "validator.cli.audit:compare"),
    ],
)
SCORE: Final = Group(
    "score",
    "Recompute a score from JSON files: one JSON document per file in, one line per file out.",
    [
        Lazy(
            "consensus",
            "Score a task's group: components, consensus, agreements (SPEC 4).",
            "validator.cli.score:consensus",
        ),
        Lazy("weights", "Turn windows into scores and capped weights (SPEC 11).", "validator.cli.score:weights"),
        Lazy("workflow", "Score a workflow run (SPEC 12).", "validator.cli.score:workflow"),
        Lazy("keys", "Compute canonical finding keys (SPEC 3).", "validator.cli.score:keys"),
        Lazy(
            "emission",
            "Score one answer: axes, epsilon, quality, emission (SPEC 6, 7).",
            "validator.cli.score:emission",
        ),
        Lazy("collusion", "Say which samples count and which raise a flag (SPEC 9).", "validator.cli.score:collusion"),
        Lazy("reputation", "Apply reputation events (SPEC 10).", "validator.cli.score:reputation"),
        Lazy(
            "execution",
            "Compare traces with what three runs of a task's bundle showed (SPEC 15).",
            "validator.cli.score:execution",
        ),
    ],
)
PROOF: Final = Group(
    "proof",
    "Consensus proofs: what a group or a debate agreed on, who did not, on which evidence.",
    [
        Lazy("build", "Make the proof of a debate of any system.", "validator.cli.proof:build"),
        Lazy(
            "verify",
            "Check a proof: form, checksum, digest, signature, and what its votes give.",
            "validator.cli.proof:verify",
        ),
        Lazy(
            "show",
            "Show the proof of a task's group as a page: votes, dissents, tensions, evidence.",
            "validator.cli.proof_stored:show",
        ),
        Lazy(
            "export",
            "Write the signed proof of a task's group; `validator proof verify` checks the JSON.",
            "validator.cli.proof_stored:export_",
        ),
    ],
)
GROUPS: Final = Group(
    "groups",
    "Verification groups.",
    [Lazy("select", "Select the group of a task from its frozen pool and seed.", "validator.cli.groups:select")],
)
DB: Final = Group(
    "db",
    "The store's tables.",
    [
        Lazy("upgrade", "Make the tables, or bring them to this version.", "validator.cli.db:upgrade_"),
        Lazy(
            "state",
            "Say how the tables relate to this version: empty, current, behind or ahead.",
            "validator.cli.db:state",
        ),
        Lazy(
            "copy",
            "Copy the whole store into an empty one, here or on the other database, and compare every row.",
            "validator.cli.db:copy",
        ),
        Lazy(
            "prune",
            "Remove now what the settings no longer keep: raw answers and bundles.",
            "validator.cli.db_size:prune_",
        ),
        Lazy(
            "archive",
            "Take old, wholly settled rounds out of the store into signed files, which every reader still finds.",
            "validator.cli.db_archive:archive",
        ),
        Lazy(
            "forecast",
            "Say how large the store is, what a round adds to each table, and what a year of rounds comes to.",
            "validator.cli.db_size:forecast_",
        ),
        Lazy(
            "check",
            "Look for damage: pages, tables, references, digests, the log.",
            "validator.cli.db_check:check",
        ),
        Lazy(
            "export",
            "Write the store's tables as Parquet files into a new folder, without anybody's bytes.",
            "validator.cli.db_export:export",
        ),
        Lazy(
            "backup",
            "Write the store into a new SQLite file that its owner alone can read; a validator may be running.",
            "validator.cli.db_backup:backup",
        ),
        Lazy(
            "restore",
            "Put a backup in the place of a store that is not there.",
            "validator.cli.db_backup:restore",
        ),
    ],
)
WALLET: Final = Group(
    "wallet",
    "Wallet: the hotkey's file where a container reads it.",
    [
        Lazy(
            "install",
            "Copy the hotkey's file, and no coldkey, into a folder that only the container's user can read.",
            "validator.cli.wallet:install",
        )
    ],
)
TREE: Final = Group(
    "validator",
    "Scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet.",
    [
        Lazy(
            "init",
            "Write validator.toml, every key with a comment, and .env; never overwrites. Asks for what no option says.",
            "validator.cli.init:init",
        ),
        Lazy(
            "run",
            "Run the validator until SIGTERM; exit 0 when the round in hand was finished, 4 when it was cut off.",
            "validator.cli.run:run",
        ),
        Lazy(
            "drain",
            "Let the running validator finish the round in hand, begin no other and end, and wait for that.",
            "validator.cli.drain:drain",
        ),
        Lazy(
            "worker",
            "Do what waits in the queue until SIGTERM: executions, code, replays.",
            "validator.cli.worker:worker",
        ),
        Lazy(
            "replay",
            "Compute rounds again from their stored inputs and answers, and compare byte for byte.",
            "validator.cli.replay:replay",
        ),
        Lazy(
            "explain",
            "Explain what a round came to for a miner, or a miner's last rounds.",
            "validator.cli.explain:explain",
        ),
        Lazy(
            "doctor",
            "Look at everything that the validator needs, a line for each, with what to do; changes nothing.",
            "validator.cli.doctor:doctor",
        ),
        Lazy(
            "status",
            "Show one validator on one screen: store, health report and chain, whichever are there; --watch keeps on.",
            "validator.cli.status:status",
        ),
        Lazy(
            "health",
            "Ask /readyz of the validator that runs with these settings; a line for each condition, with advice.",
            "validator.cli.health:health",
        ),
        ROUNDS,
        MINERS,
        FLAGS,
        EXECUTIONS,
        CHECKS,
        WALLET,
        WEIGHTS,
        TASKS,
        AUDIT,
        SCORE,
        PROOF,
        GROUPS,
        DB,
        Lazy(
            "devnet",
            "Run simulated chain, local miners and the real validator together; then print what came of it.",
            "localnet",
        ),
        Lazy("localnet", "Whole local networks on a node of the chain.", "localnet"),
        Lazy("miner", "Reference miners for local networks; a template, a check.", "miner"),
    ],
    _options(),
)
