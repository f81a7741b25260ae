"""All conditions, by name."""

from collections.abc import Mapping
from typing import Final

from validator.conditions.chain import CHAIN
from validator.conditions.condition import Condition
from validator.conditions.executions import EXECUTIONS
from validator.conditions.machine import MACHINE
from validator.conditions.pay import PAY
from validator.conditions.process import PROCESS
from validator.conditions.rounds import ROUNDS
from validator.conditions.store import STORE

CONDITIONS: Final[Mapping[str, Condition]] = {
    condition.name: condition for condition in (*STORE, *MACHINE, *PROCESS, *CHAIN, *ROUNDS, *PAY, *EXECUTIONS)
}
