"""The catalogue of the local step services, which planners and goals read: actions, prices and speeds."""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from miner.services import actions
from miner.services.actions import Params
from sssa.protocol.workflow_run import StepOutput

Service = Literal["text", "code", "retrieval", "transform"]
SERVICES: Final[tuple[Service, ...]] = ("text", "code", "retrieval", "transform")


class ServiceAddress(NamedTuple):
    """Address of a step service, and the key that signs its answers."""

    url: str
    hotkey: str


class Action(NamedTuple):
    """One thing that a service does.

    Attributes:
        perform: params to output; raises ParamsError.
    """

    service: Service
    name: str
    cost_tao: float
    seconds: float
    perform: Callable[[Params], StepOutput]


ACTIONS: Final = (
    Action("text", "summarise", 0.003, 0.15, actions.summarise),
    Action("text", "summarise_premium", 0.009, 0.10, actions.summarise),
    Action("text", "keywords", 0.002, 0.10, actions.keywords),
    Action("text", "join", 0.001, 0.05, actions.join),
    Action("text", "report", 0.002, 0.10, actions.report),
    Action("code", "write", 0.006, 0.25, actions.write),
    Action("code", "tidy", 0.001, 0.05, actions.tidy),
    Action("retrieval", "search", 0.002, 0.20, actions.search),
    Action("retrieval", "search_premium", 0.008, 0.10, actions.search),
    Action("transform", "parse_table", 0.001, 0.10, actions.parse_table),
    Action("transform", "keep", 0.001, 0.05, actions.keep),
    Action("transform", "keep_above", 0.001, 0.05, actions.keep_above),
    Action("transform", "largest", 0.002, 0.10, actions.largest),
    Action("transform", "column", 0.001, 0.05, actions.column),
    Action("transform", "name", 0.001, 0.05, actions.name),
    Action("transform", "count", 0.001, 0.05, actions.count),
    Action("transform", "total", 0.001, 0.05, actions.total),
    Action("transform", "average", 0.002, 0.05, actions.average),
)
BY_NAME: Final = {(action.service, action.name): action for action in ACTIONS}
