"""The catalogue of conditions: everything that can prevent the validator's work.

An entry says what happened, what to do, how the daemon sees it, how `validator doctor` sees it before a start, and
which alert asks for it. `/readyz`, metrics, log lines, `status`, `doctor`, exit codes, the alert rules, the dashboard
and docs/reference/conditions.md are views of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from validator.health import rounds

if TYPE_CHECKING:
    from validator.rounds.facts import RoundFacts

QUIET_S: Final = 60.0
_HOUR_S: Final = 3600.0

Severity = Literal["note", "degraded", "unhealthy", "fatal"]
"""Fatal: the process ends. Unhealthy: it cannot do its work. Degraded: it runs, and somebody should look. Note: it was
set up to do less."""
_IN_ROUNDS: Final = "It follows from rounds that ended."
_PROGRAM: Final = "It is an error of a running program."
_LOAD: Final = "It follows from the load of a running validator."


class Check(NamedTuple):
    """One row of `/readyz`: it fails while one of its conditions is active, unless that is a note.

    Attributes:
        holds: one sentence: what is so while the check is passed.
        alert: the rule that asks for its conditions (`alerts.py`).
        known: whether it holds from the start; else nothing is known before something was seen.
        theirs: whether others can make it fail, miners or a slow node, while this validator does all of its work; then
            `/readyz` names it and stays 200.
    """

    holds: str
    alert: str
    known: bool = False
    theirs: bool = False


CHECKS: Final[Mapping[str, Check]] = {
    "rounds": Check("Rounds begin and end.", "ValidatorStuck", known=True),
    "dispatches": Check("Rounds send requests to miners.", "ValidatorIdle"),
    "answers": Check("Some answers pass their gates and earn.", "ValidatorNothingCounts", theirs=True),
    "declarations": Check("Some of the miners' declarations are accepted.", "ValidatorNothingCounts", theirs=True),
    "miners": Check(
        "Most miners that answered in the last day are drawn and answer.", "ValidatorMinersOut", theirs=True
    ),
    "pay": Check(
        "At least 7 miners are paid where so many answer, and nobody gets more than half.",
        "ValidatorPayNarrow",
        theirs=True,
    ),
    "weights": Check(
        "The chain takes weights, and the last are not older than `health.weights_epochs`.", "ValidatorWeightsOld"
    ),
    "trust": Check("Other validators agree with the weights.", "ValidatorTrustLow", theirs=True),
    "standing": Check("The hotkey is registered and has a validator permit.", "ValidatorPermitLost"),
    "chain": Check("The chain answers, and its blocks move on.", "ValidatorChain"),
    "endpoints": Check("Every endpoint of the chain is well.", "ValidatorBehind", theirs=True),
    "latency": Check("The chain answers within a second.", "ValidatorBehind", theirs=True),
    "clock": Check("The clock agrees with the chain's.", "ValidatorClock"),
    "store": Check("The database takes writes.", "ValidatorStore", known=True),
    "readers": Check(
        "No reader keeps the store's write-ahead log from being emptied.", "ValidatorBehind", known=True, theirs=True
    ),
    "disk": Check("A round's answers find room.", "ValidatorMachine"),
    "descriptors": Check("A round's requests find file descriptors.", "ValidatorMachine"),
    "loop": Check("The event loop runs.", "ValidatorStuck", known=True),
    "log": Check("The log's reader takes its lines.", "ValidatorBehind", known=True, theirs=True),
    "workers": Check("Answers are judged as they come.", "ValidatorBehind"),
    "executions": Check("Bundles of runtime types are executed.", "ValidatorBehind"),
    "code": Check("No code of plans waits for its sandbox.", "ValidatorBehind"),
}
"""Rows of `/readyz`, by name."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that prevents the validator's work.

    Attributes:
        name: the code, snake_case.
        check: the row of `/readyz` that fails while it is active; empty for a fatal one.
        watch: how the daemon sees it; in the present tense, after "The daemon".
        doctor: names of the doctor's checks that find it before a start, separated by commas.
        unseen: why none of them can; empty where one does.
        severity: its effect on the health; a note has none.
        own_alert: the rule that asks for it, where that is not its check's.
        metric: the figure behind it, next to `validator_condition`; empty without one.
        in_round: returns the detail where a round shows it, else None; None for a condition that a service raises. The
            condition is active after `ROUNDS` such rounds in a row (`Board`).
        quiet_s: the log names it at most once in so many seconds.
        exit_code: of a fatal condition: what the process ends with.
        parks: a restart ends the same way, and the image's entry point waits.
    """

    name: str
    check: str
    meaning: str
    advice: str
    watch: str
    doctor: str = ""
    unseen: str = ""
    severity: Severity = "degraded"
    own_alert: str = ""
    metric: str = ""
    in_round: "Callable[[RoundFacts], str | None] | None" = None
    quiet_s: float = QUIET_S
    exit_code: int = 0
    parks: bool = False

    @property
    def alert(self) -> str:
        """Name of its alert rule; empty for a note, and for a fatal one, which `ValidatorDown` covers."""
        return "" if self.severity in {"note", "fatal"} else self.own_alert or CHECKS[self.check].alert

    @property
    def checks(self) -> tuple[str, ...]:
        """Names of the doctor's checks that find it before a start."""
        return tuple(filter(None, self.doctor.split(", ")))


_unhealthy = partial(Condition, severity="unhealthy")
_note = partial(Condition, severity="note")
_ENGINE: Final = (
    "Start the engine, free its disk, let this user use its socket (its group), or correct `sandbox.engine` or "
    "`DOCKER_HOST`; the detail names what it lacks."
)
_RESTORE: Final = (
    "Put a moved file back with its -wal and -shm, else restore the newest backup (`validator db restore BACKUP`)."
)

_ALL: Final = (
    _unhealthy(
        "parked",
        "rounds",
        "The validator ended, a restart would end the same way, and its container waits.",
        "Do what `daemon_parked` in the log says, then start the container again (`docker compose restart validator`).",
        "waits in the image's entry point after an exit code that a restart repeats",
        unseen="The cause has its own fatal condition.",
        own_alert="ValidatorParked",
    ),
    _unhealthy(
        "rounds_silent",
        "rounds",
        "No round began or ended for longer than one may take.",
        "Keep the last lines of the log and a stack (`py-spy dump --pid PID`), then restart: it is safe.",
        "measures the time since a round began or ended",
        unseen=_PROGRAM,
        metric="validator_round_in_hand_seconds",
    ),
    _unhealthy(
        "loop_stuck",
        "loop",
        "The event loop stood still.",
        "Look at load, swap and steal time of the machine, then restart: it is safe. Report it if the machine was "
        "idle, with a stack (`py-spy dump --pid PID`).",
        "measures the time since the event loop last ran a timer",
        unseen=_LOAD,
        metric="validator_loop_lag_seconds",
    ),
    _unhealthy(
        "rounds_failing",
        "rounds",
        "Rounds end in an error of the validator.",
        "Report the traceback of `round_failed` in the log; a restart is safe. After an upgrade: restore the backup "
        "and install the older version.",
        "catches an error of a round",
        unseen=_PROGRAM,
        own_alert="ValidatorFailing",
    ),
    _unhealthy(
        "weights_failing",
        "weights",
        "The weights loop ends in an error of the validator.",
        "Report the traceback of `weights_failed` in the log; a restart is safe. After an upgrade: restore the backup "
        "and install the older version.",
        "catches an error of the weights loop",
        unseen=_PROGRAM,
        own_alert="ValidatorFailing",
    ),
    _unhealthy(
        "store_away",
        "store",
        "The database does not answer. What has arrived is kept and written once it is back; no weights are sent "
        "meanwhile.",
        "Start the database, or end what keeps it busy: server, network, connections, password. Do not restart the "
        "validator meanwhile: that would lose what it keeps.",
        "writes to the store every 5 s",
        "database",
        metric="validator_store_write_seconds",
    ),
    _unhealthy(
        "store_no_write",
        "store",
        "The store takes no write. What has arrived is kept and written once it does.",
        "Free space on its disk, or correct the rights of its file, folder and server. `database is locked` or `lock "
        "timeout`: end the other program that holds a write (`fuser FILE`). Do not restart the validator meanwhile.",
        "writes to the store every 5 s",
        "database",
        metric="validator_store_write_seconds",
    ),
    _unhealthy(
        "store_damaged",
        "store",
        "The store is damaged, or its path no longer leads to the file that is open; the validator stops.",
        _RESTORE,
        "compares path and file before every write",
        "database",
    ),
    Condition(
        "store_pinned",
        "readers",
        "A program reads SQLite's store in a transaction that it does not end: the write-ahead log grows by what each "
        "round writes, about 2 MB.",
        "`fuser -v FILE` names the programs that have the store's file open: end the one that is not the validator, "
        "such as a forgotten `sqlite3` or a script. The log is emptied by itself then.",
        "measures the write-ahead log",
        unseen="It follows from what reads the store while it is written to.",
        metric="validator_disk_free_bytes",
    ),
    Condition(
        "canaries_unavailable",
        "dispatches",
        "No task maker can be used: rounds hold no canaries.",
        "Install the task maker of the validator's version (the detail has both), or set `tasks.canaries = false`. "
        "Under a schedule with 2.0.0 the validator does not start without one.",
        "looks for the task maker at the start",
        "bases",
    ),
    Condition(
        "rounds_no_tasks",
        "dispatches",
        "Rounds have no task but the validator's own canaries.",
        "Put tasks into `tasks.directory` (`validator tasks seed FOLDER --output DIR` makes some, `validator tasks "
        "check DIR` names every fault; those of `validator tasks retired` are not given again), or set "
        "`tasks.server_url` and see whether it answers.",
        "counts the tasks of each round",
        "tasks",
        in_round=rounds.no_tasks,
    ),
    Condition(
        "rounds_no_miners",
        "dispatches",
        "No miner that is registered has a valid declaration.",
        "Check `validator.netuid`, `validator neurons list`, and what keeps miners from being reached: "
        "`capabilities_refreshed` in the log counts why declarations do not count.",
        "counts the miners of each round",
        "miners",
        in_round=rounds.no_miners,
    ),
    Condition(
        "rounds_no_dispatches",
        "dispatches",
        "There are tasks and miners, and no request goes out.",
        "Look at the exclusions and the declared types in `validator rounds show`. `skipped_epoch_over` again and "
        "again: the store is of another chain.",
        "counts the dispatches of each round",
        unseen=_IN_ROUNDS,
        in_round=rounds.no_dispatches,
    ),
    Condition(
        "rounds_no_valid_answers",
        "answers",
        "Dispatches go out, and no answer passes its gates.",
        "Where all have one reason the cause is here: check the network, the clock (`timedatectl`) and the version of "
        "this program.",
        "counts the reasons of each round's answers",
        unseen=_IN_ROUNDS,
        in_round=rounds.no_valid_answers,
    ),
    Condition(
        "rounds_all_early",
        "answers",
        "Every accepted answer came before its t_min and earns nothing.",
        "Correct the windows in the tasks' `task.json`: their t_min is larger than honest work takes.",
        "counts the answers before t_min of each round",
        unseen=_IN_ROUNDS,
        in_round=rounds.every_answer_early,
    ),
    Condition(
        "declarations_refused",
        "declarations",
        "Every miner that was asked for its declaration gave none that counts.",
        "Compare this machine's clock with a time server (`timedatectl`), then check the network.",
        "counts the declarations that miners send",
        "miners",
        in_round=rounds.declarations_refused,
    ),
    Condition(
        "miners_out",
        "miners",
        "More than half of the miners that answered in the last day are excluded or failed in their newest round. "
        "Weights are sent all the same: the others and the owner take their pay.",
        "The detail says whether the chain's endpoint and the task source can be reached. If not, the fault is "
        "probably here: cable, firewall, DNS, a full connection table. One reason for miners in many networks in "
        "`validator rounds show` points here, too. If the fault is here, set `weights.enabled = false` and restart: "
        "the row on chain stays; set it back when this is over, before the subnet's activity cutoff. A majority that "
        "fails on purpose looks the same, and loses its own pay.",
        "compares who is drawn and answers with who answered in the last day",
        unseen=_IN_ROUNDS,
        quiet_s=_HOUR_S,
    ),
    Condition(
        "weights_few_paid",
        "pay",
        "Fewer than 7 miners are paid, and at least 7 answered in the last day: the cap leaves the rest to the owner. "
        "In the first hours of a validator this is as it should be.",
        "`validator weights plan` names the unpaid windows and what brings each back; look for what they share. With "
        "`miners_out`, begin there.",
        "counts who is paid by each vector",
        unseen=_IN_ROUNDS,
        metric="validator_unpaid_windows",
        quiet_s=_HOUR_S,
    ),
    Condition(
        "weights_concentrated",
        "pay",
        "The subnet's owner or one hotkey gets more than half of a mechanism's row, as the chain normalizes it.",
        "Compare the row of `validator weights plan` with what miners answered; it is sent all the same.",
        "adds up each vector by hotkey",
        unseen=_IN_ROUNDS,
        quiet_s=_HOUR_S,
    ),
    Condition(
        "weights_old",
        "weights",
        "For more epochs than `health.weights_epochs` no weights have reached the chain. Past the subnet's activity "
        "cutoff the validator no longer counts.",
        "`validator weights plan` and `weights_blocked` in the log name what is in the way; a restart betters "
        "nothing. `weights_rate_limited` in every epoch: something else uses the hotkey.",
        "counts the epochs since a confirmed submission",
        "subnet",
        metric="validator_epochs_since_weights",
    ),
    Condition(
        "weights_refused",
        "weights",
        "The chain refused the newest weights.",
        "The detail has the chain's words; `validator doctor` asks what a submission asks. It is tried again "
        "from the next block on, three times in an epoch.",
        "reads the fate of each submission",
        "subnet, weights",
    ),
    Condition(
        "weights_altered",
        "weights",
        "The row on chain is not the one that this validator sent: miners are paid by other weights.",
        "Compare `validator weights show` with the chain. If another program uses this hotkey, stop it. Else report it "
        "with the runtime's version (`validator doctor`): it does something with rows that this program does not know.",
        "reads back each row after its inclusion, or after its reveal",
        "weights",
    ),
    Condition(
        "weights_reveal_failed",
        "weights",
        "The chain has not revealed the newest commitment whose time has come: its weights are lost, and the row "
        "before stays in force.",
        "Nothing, if it happens once: the next commitment replaces it. Again and again: see whether the rows of other "
        "validators change, else the chain gets no pulses of drand; `validator weights plan` names what the runtime "
        "would refuse at the reveal, such as too few weights or a lost permit.",
        "compares the row on chain with each commitment in the epoch of its reveal",
        "weights",
    ),
    Condition(
        "trust_low",
        "trust",
        "For three epochs this hotkey's validator trust has been at least 0.2 below the median of all validators: the "
        "others do not agree with its weights, and it earns less.",
        "Compare the row of `validator weights plan` with other validators' rows. Look at the scoring version, the "
        "tasks, and miners that this machine alone cannot reach (`validator rounds show`).",
        "reads its figures once an epoch",
        unseen="It follows from several epochs.",
        metric="validator_trust",
        quiet_s=_HOUR_S,
    ),
    Condition(
        "weights_too_few",
        "weights",
        "The subnet asks for more weights in a row than there are paid miners: nothing is sent, the chain would refuse "
        "it.",
        "`validator weights plan` names the unpaid windows and what brings each back. If the subnet has too few good "
        "miners, ask its owner to lower `min_allowed_weights`.",
        "compares each row with the subnet's least number of weights before it is sent",
        "weights",
        quiet_s=_HOUR_S,
    ),
    Condition(
        "no_standing",
        "standing",
        "This hotkey has no slot on the subnet or no validator permit: it sends no weights. Rounds continue, or wait "
        "(`rounds.without_permit`).",
        "The detail names which. Not registered: register the hotkey, and see who was given its slot. No permit: "
        "stake more; permits come at the end of an epoch.",
        "looks up the hotkey in every snapshot",
        "subnet",
        metric="validator_permit",
    ),
    Condition(
        "chain_away",
        "chain",
        "No block could be read for 45 seconds.",
        "Check the node and the network, or name a second one in `chain.endpoints`; a restart brings no chain back.",
        "reads the newest block every 10 s",
        "endpoints",
        metric="validator_chain_reachable",
    ),
    Condition(
        "chain_stale",
        "chain",
        "The chain answers, and its newest block has been the same for five minutes.",
        "Compare the block with a public explorer: restart or replace a node that lags, wait for a chain that makes "
        "no block.",
        "measures the age of the newest block",
        "clock",
        metric="validator_chain_block_age_seconds",
    ),
    Condition(
        "chain_behind",
        "chain",
        "The chain shows blocks far below those that it has shown before: no round, no weights.",
        "Wait until the node has caught up, or put another one first in `chain.endpoints`; if the chain itself was "
        "set back, restart.",
        "compares each block with the highest it has seen",
        "endpoints",
    ),
    Condition(
        "chain_endpoint_unhealthy",
        "endpoints",
        "An endpoint of the chain is not well; the others do its work. It is looked at again after some minutes.",
        "The detail names it and says why: mend it, or take it out of `chain.endpoints`. Where none is well, the first "
        "that is a node is used all the same.",
        "looks at the endpoints before it connects, and at every answer",
        "endpoints",
    ),
    _unhealthy(
        "subnet_gone",
        "chain",
        "The chain has no subnet of this netuid any more.",
        "Correct `validator.netuid` and `chain.endpoints`; a subnet that was removed from the chain needs no "
        "validator.",
        "reads the newest block every 10 s",
        "subnet",
    ),
    _unhealthy(
        "other_chain",
        "chain",
        "What answers is another chain than the store's: no round, no weights.",
        "Correct `chain.endpoints`: all must lead to one chain; never delete the store for it. A chain that was begun "
        "anew needs a new store.",
        "compares the genesis of what it connects to",
        "endpoints, history",
    ),
    _unhealthy(
        "local_clock",
        "clock",
        "The clock is more than 30 s off the chain's, or nothing shows yet that it is not: no round, no weights.",
        "Set the clock right and keep it by NTP: `timedatectl` shows what sets it. In a virtual machine, set the "
        "host's clock. Miners refuse calls already from 2 s ahead or 10 s behind (`deadline_status` of all).",
        "compares the clock with the time of fresh blocks",
        "clock",
        metric="validator_clock_offset_seconds",
    ),
    _unhealthy(
        "local_disk",
        "disk",
        "Too little disk space is left for a round's answers: no round starts.",
        "Free space where the detail says, or lower `store.retention_raw_days`: raw answers go with retention, the "
        "rest stays, and `validator status` says how the store grows. Rounds continue by themselves.",
        "asks for free space before each round; not on the machine of a Postgres elsewhere",
        "machine, database, history",
        metric="validator_disk_free_bytes",
    ),
    _unhealthy(
        "local_descriptors",
        "descriptors",
        "Too few file descriptors are left for a round's requests: no round starts.",
        "Raise the limit (`ulimit -n`, `LimitNOFILE`, `ulimits`) to what the detail names.",
        "counts open descriptors before each round",
        "machine",
        metric="process_open_fds",
    ),
    Condition(
        "log_lost",
        "log",
        "The reader of the log takes nothing, or lines of the log were lost. Rounds and weights continue.",
        "Let the reader read: Ctrl-Q in a terminal that Ctrl-S stopped, a restart of what reads the pipe, room on the "
        "disk of the log. Lost lines do not come back; the store has every result (`validator rounds list`).",
        "counts the lines that its reader did not take",
        unseen=_LOAD,
        metric="validator_log_lost_lines",
    ),
    Condition(
        "gates_behind",
        "workers",
        "Answers wait long for a worker that judges them.",
        "Give the machine more cores, or end what else uses them; `worker_ended` names answers that cost too much.",
        "measures how long answers wait for a worker",
        unseen=_LOAD,
    ),
    Condition(
        "chain_slow",
        "latency",
        "The chain takes more than a second for an answer. Rounds and weights continue; from about 5 s a call a "
        "submission may miss its epoch.",
        "Check the node's load and the network, or put a nearer node first in `chain.endpoints`, ideally your own.",
        "measures each call",
        "endpoints",
    ),
    Condition(
        "sandbox_away",
        "executions",
        "The container engine does not run bundles: executions wait, and count against nobody.",
        _ENGINE,
        "asks the engine",
        "engine",
        metric="validator_queue_oldest_seconds",
    ),
    Condition(
        "sandbox_image",
        "executions",
        "The container engine does not have the runtime image and cannot pull it: nothing is executed.",
        "Pull the image that the detail names into the engine, or correct `scoring.runtime_images`.",
        "asks the engine",
        "settings",
        metric="validator_queue_oldest_seconds",
    ),
    Condition(
        "sandbox_slow",
        "executions",
        "A call to the container engine took too long: what was being executed is tried again.",
        "Look at the load of the engine's machine and at what the detail names; restart an engine that is stuck.",
        "limits each call to the engine",
        "engine",
        metric="validator_queue_oldest_seconds",
    ),
    Condition(
        "workers_away",
        "executions",
        "No worker process takes waiting work from the queue: it waits.",
        "Start `validator worker`, or look at the log of those that run: without its engine one takes none.",
        "reads the workers' signs of life",
        unseen="Workers may start after the validator.",
        metric="validator_queue_at_once",
    ),
    Condition(
        "executions_late",
        "executions",
        "More than a third of the last day's tasks were not executed in time: they say nothing of any miner.",
        "Look at what `validator waiting list` says of their tries; give the engine more, or add worker machines.",
        "counts the executions of the last day",
        unseen=_LOAD,
        metric="validator_queue",
    ),
    Condition(
        "code_waits",
        "code",
        "Code of plans waits to be judged, at no planner's cost: its sandbox does not run.",
        _ENGINE,
        "asks the engine",
        "engine",
        metric="validator_queue_oldest_seconds",
    ),
    _note(
        "executions_off",
        "executions",
        "There is no sandbox, and nothing is executed: this validator cannot see whether miners ran what they attest.",
        "Name a container engine in `sandbox.engine`, or leave it: miners lose nothing by it.",
        "reads the settings",
        "engine",
    ),
    _note(
        "code_off",
        "code",
        "There is no sandbox to judge code in: plans for code tasks wait, and enter no window before there is one.",
        "Name an engine in `sandbox.engine`, or take the code tasks away; what waits is judged later.",
        "reads the settings and the tasks",
        "engine",
    ),
)


def _fatal(  # noqa: PLR0913 - the fields of a fatal condition
    name: str,
    exit_code: int,
    meaning: str,
    advice: str,
    doctor: str,
    *,
    watch: str = "looks at the start, and ends",
    parks: bool = True,
) -> Condition:
    return Condition(name, "", meaning, advice, watch, doctor, severity="fatal", exit_code=exit_code, parks=parks)


_FATAL: Final = (
    _fatal(
        "settings_refused",
        2,
        "Bad input, usage or settings.",
        "Correct what the reason names; config/validator.toml shows every key, `validator init` writes a new file.",
        "settings, database, bases, process",
    ),
    _fatal(
        "not_ready",
        3,
        "The store or the environment is not ready.",
        "The line says what is missing.",
        "database, wallet, settings, subnet",
        parks=False,
    ),
    _fatal(
        "chain_unreachable",
        10,
        "No chain answers at `chain.endpoints`, or what answers is no subtensor.",
        "Check name, port, ws or wss, and the firewall; name a second endpoint.",
        "endpoints, subnet",
        parks=False,
    ),
    _fatal(
        "hotkey_missing",
        11,
        "The hotkey's file is not there.",
        "Check wallet.path, wallet.name and wallet.hotkey, and in a container what is mounted and who may read it.",
        "wallet",
    ),
    _fatal(
        "hotkey_encrypted",
        12,
        "The hotkey's file is encrypted, and no password unlocks it.",
        "Write its password as the one line of a file of this user, mode 400, and name that in wallet.password_file; "
        "or use a hotkey without one.",
        "wallet",
    ),
    _fatal(
        "not_registered",
        13,
        "The hotkey is not registered on the subnet.",
        "Register it (`btcli tx burned-register`), or correct wallet.hotkey or validator.netuid.",
        "subnet",
    ),
    _fatal(
        "no_subnet",
        14,
        "The chain has no subnet of this netuid.",
        "Correct validator.netuid or chain.endpoints.",
        "subnet",
    ),
    _fatal(
        "weights_locked",
        15,
        "Weights are locked: something else seems to send them with this hotkey.",
        "Stop the other program, wait for its weights on chain, then `validator weights unlock --reason TEXT`.",
        "weights",
        watch="compares the hotkey's weights on chain with what it sent, and ends",
    ),
    _fatal(
        "store_in_use",
        16,
        "Another validator writes to the store.",
        "Stop one of the two; do not delete the lock file. If the machine of the other one died, Postgres notices it "
        "within two minutes: start again then.",
        "process",
        watch="takes the writer's lock at the start, or ends",
    ),
    _fatal(
        "store_lost",
        17,
        "The store is damaged, or its path no longer leads to it.",
        _RESTORE,
        "database",
        watch="compares path and file before every write, and ends",
        parks=False,
    ),
    _fatal(
        "other_store",
        18,
        "The store belongs to another chain, subnet or hotkey than the settings name.",
        "Correct validator.netuid, chain.endpoints or [wallet], or begin a new store (another store.url).",
        "history",
    ),
)

CONDITIONS: Final[Mapping[str, Condition]] = {one.name: one for one in _ALL}
"""All that a running validator can raise, by name."""
FATAL: Final[Mapping[str, Condition]] = {one.name: one for one in _FATAL}
"""All that ends the process, by name: each has an exit code."""
CATALOGUE: Final[Mapping[str, Condition]] = {**CONDITIONS, **FATAL}
