"""Alert rules for Prometheus, made from the catalogue; `make reference` prints them to config/prometheus/rules.yml."""

import json
import sys
from dataclasses import dataclass
from typing import Final, Literal

from validator.health.catalogue import CONDITIONS, Condition

PAGE: Final = "docs/reference/conditions.md"
_HEAD: Final = (
    "Made from the code by `make reference`; a test holds it. Do not edit: validator/health/alerts.py has the rules.",
    "Severity page wakes somebody, severity ticket is for somebody to look at by day. The job must be called",
    "`validator`; what another job scrapes, such as a local network, wakes nobody.",
)


@dataclass(frozen=True, slots=True)
class Alert:
    """One rule; its severity is `page` (wakes somebody) or `ticket` (for working hours).

    Attributes:
        minutes: how long the expression must hold.
        expression: what it asks Prometheus; empty for the conditions that name this alert.
        meaning, advice: what happened and what to do, for a rule without conditions.
    """

    name: str
    severity: Literal["page", "ticket"]
    minutes: int
    summary: str
    expression: str = ""
    meaning: str = ""
    advice: str = ""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that trigger it."""
        return tuple(one for one in CONDITIONS.values() if one.alert == self.name)

    @property
    def query(self) -> str:
        """The expression of the rule."""
        names = [one.name for one in self.conditions]
        selector = f'=~"{"|".join(names)}"' if len(names) > 1 else f'="{"".join(names)}"'
        return self.expression or f'validator_condition{{job="validator", condition{selector}}} == 1'


ALERTS: Final = (
    Alert(
        "ValidatorDown",
        "page",
        5,
        "The validator does not answer.",
        'up{job="validator"} == 0 or absent(up{job="validator"})',
        "Nothing has answered at `/metrics` for five minutes, or Prometheus knows no job `validator`: no rounds, no "
        "weights.",
        "Look whether the process runs. If not, its last line and its [exit code](#exit-codes) name the cause. If "
        "it runs, run `validator health` on its machine; if that answers, check the network, `health.host`, and "
        "`health.token` in Prometheus' `authorization` (its page of targets shows 401).",
    ),
    Alert(
        "ValidatorRestarts",
        "page",
        0,
        "The validator starts again and again.",
        'changes(process_start_time_seconds{job="validator"}[1h]) > 3',
        "It has started more than three times within an hour. Each start may have cut off a round.",
        "Read the last lines before each start, and the exit code: 4 is a stop time-out that is too short, 137 is "
        "`kill -9`, mostly for memory (`dmesg`, `docker inspect`), the others are in [exit codes](#exit-codes). "
        "Compare `process_resident_memory_bytes` with the memory of [all "
        "workers](../operators/stop.md#worker-processes).",
    ),
    Alert("ValidatorParked", "page", 5, "The validator ended, and its container waits for somebody."),
    Alert("ValidatorStuck", "page", 2, "The validator does not proceed: {{ $labels.condition }}."),
    Alert("ValidatorFailing", "page", 10, "Errors of the validator's own, again and again: {{ $labels.condition }}."),
    Alert(
        "ValidatorFault",
        "ticket",
        0,
        "An error of the validator's own: {{ $labels.event }}.",
        'increase(validator_errors_total{job="validator"}[30m]) > 0',
        "Within the last half hour there was an error of the program, which the label `event` names. What it hit is "
        "void and costs no miner anything.",
        "Report the traceback in its line of the log.",
    ),
    Alert("ValidatorStore", "page", 2, "The database does not do its part: {{ $labels.condition }}."),
    Alert(
        "ValidatorNoDispatches",
        "page",
        5,
        "No round with requests to miners was settled for three rounds' time and 20 minutes.",
        """time() - (
  validator_last_dispatched_round_timestamp_seconds{job="validator"}
    > process_start_time_seconds{job="validator"}
  or process_start_time_seconds{job="validator"}
) > 3 * validator_round_interval_seconds{job="validator"} + 1200""",
        "For the time of three rounds and 20 minutes no round was settled that had sent requests to miners. Nobody "
        "earns anything.",
        "Begin with the other alerts that fire: chain, clock, machine, store and permit each stop rounds. Without "
        "any: `validator rounds list`, `validator neurons list` and the exclusions in `validator rounds show`. "
        "`void_offline` is this machine's network. Where `validator_round_in_hand_seconds` is large, look at the "
        "limits of workflow tasks.",
    ),
    Alert("ValidatorIdle", "ticket", 30, "Rounds have little to do: {{ $labels.condition }}."),
    Alert("ValidatorNothingCounts", "page", 15, "Nothing that miners send is accepted: {{ $labels.condition }}."),
    Alert("ValidatorMinersOut", "page", 15, "Most miners that answered in the last day are excluded or fail."),
    Alert("ValidatorPayNarrow", "ticket", 5, "Few take what many earn: {{ $labels.condition }}."),
    Alert("ValidatorTrustLow", "ticket", 5, "Other validators do not agree with this one's weights."),
    Alert("ValidatorWeightsOld", "page", 5, "Weights do not reach the chain: {{ $labels.condition }}."),
    Alert(
        "ValidatorWeightsGuarded",
        "page",
        5,
        "The guard keeps weights back: {{ $labels.reason }}.",
        """validator_weights_blocked{
  job="validator", reason=~"weights_(guard_missing|clock_back|chain_behind|epoch_back)"
} == 1""",
        "The guard sends nothing because what it sees cannot be. A hotkey that another program uses ends the "
        "validator instead: `weights_locked`.",
        "Do not force it. Restore the store (`weights_guard_missing`), set the clock (`weights_clock_back`) or name "
        "another endpoint (`weights_chain_behind`, `weights_epoch_back`): [never "
        "twice](../operators/weights.md#never-twice).",
    ),
    Alert("ValidatorPermitLost", "page", 5, "The hotkey has lost its slot or its validator permit."),
    Alert("ValidatorChain", "page", 5, "The chain does not do its part: {{ $labels.condition }}."),
    Alert("ValidatorClock", "page", 3, "The machine's clock is wrong."),
    Alert("ValidatorMachine", "page", 2, "The machine has no room for a round: {{ $labels.condition }}."),
    Alert(
        "ValidatorDiskFills",
        "ticket",
        60,
        "The disk is full within two days: {{ $labels.place }}.",
        'predict_linear(validator_disk_free_bytes{job="validator"}[6h], 2 * 86400) < 0',
        "By the growth of the last six hours, the disk of the label `place` (`store`, or `temporary` files) is full "
        "in two days.",
        "Where `validator_store_bytes` grows, shorten `store.retention_raw_days`, or "
        "move the store to a larger disk: it keeps every record; `validator_kept_bytes` names the hotkeys that keep "
        "most. Else remove what grows next to the validator: logs, backups, images.",
    ),
    Alert("ValidatorBehind", "ticket", 15, "Work waits: {{ $labels.condition }}."),
)


def rules() -> str:
    """Return the rules as Prometheus reads them: config/prometheus/rules.yml."""
    lines = [*(f"# {line}" for line in _HEAD), "groups:", "  - name: validator", "    rules:"]
    for one in ALERTS:
        lines += ["", f"      - alert: {one.name}", "        expr: >-"]
        lines += [f"          {line}" for line in one.query.splitlines()]
        lines += [f"        for: {one.minutes}m"] if one.minutes else []
        lines += ["        labels:", f"          severity: {one.severity}", "        annotations:"]
        lines += [f"          summary: {json.dumps(one.summary)}", f"          runbook: {PAGE}#{one.name.lower()}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rules())
