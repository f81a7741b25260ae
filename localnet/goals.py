"""The local network's workflow tasks: eight goals, each with a reference that can be missed (SPEC 12)."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from localnet.services.catalogue import ACTIONS, Service, ServiceAddress
from localnet.services.retrieval import PASSAGES
from localnet.services.text import shortened
from validator.protocol.task import Windows
from validator.protocol.workflow_task import (
    Constraints,
    Criterion,
    Reference,
    Tool,
    WorkflowTask,
    WorkflowType,
    check_workflow_task,
)

_BUDGET_TAO: Final = 0.03
_LATENCY_S: Final = 4.0
_SALES: Final = """region,status,amount
north,paid,120
south,open,80
north,paid,30
west,paid,55.5
south,paid,200
west,open,10
"""


class _Goal(NamedTuple):
    kind: WorkflowType
    steps: int
    text: str
    reference: Reference
    services: tuple[Service, ...]


def _found(*titles: str) -> str:
    return " ".join(PASSAGES[title] for title in titles)


def _checklist(*criteria: tuple[Any, str]) -> Reference:
    return Reference(checklist=tuple(Criterion(kind, value) for kind, value in criteria))


_GOALS: Final = (
    _Goal(
        "rag",
        2,
        'Find what there is on "prompt injection". Summarise it in 2 sentences.',
        Reference(text=shortened(_found("prompt injection"), 2)),
        ("retrieval", "text"),
    ),
    _Goal(
        "rag",
        4,
        'Find what there is on "sandboxing". Find what there is on "least privilege". Join them. '
        "Summarise it in 3 sentences.",
        Reference(text=shortened(_found("sandboxing", "least privilege"), 3)),
        ("retrieval", "text"),
    ),
    _Goal(
        "rag",
        5,
        'Find what there is on "supply chain". Find what there is on "tool poisoning". '
        'Find what there is on "secrets". Join them. Summarise it in 4 sentences.',
        Reference(text=shortened(_found("supply chain", "tool poisoning", "secrets"), 4)),
        ("retrieval", "text"),
    ),
    _Goal(
        "data_transform",
        2,
        f'Read the table. Total the "amount" by "region".\n\n{_SALES}',
        Reference(expected={"north": 150, "south": 280, "west": 65.5}),
        ("transform",),
    ),
    _Goal(
        "data_transform",
        3,
        f'Read the table. Keep the rows whose "status" is "paid". Total the "amount" by "region".\n\n{_SALES}',
        Reference(expected={"north": 150, "south": 200, "west": 55.5}),
        ("transform",),
    ),
    _Goal(
        "agent",
        3,
        'Find what there is on "tool poisoning". Summarise it in 2 sentences. Report it under "Poisoned tools".',
        _checklist(("keyword", "Poisoned tools"), ("keyword", "description"), ("regex", "^# "), ("regex", r"\.\s*$")),
        ("retrieval", "text"),
    ),
    _Goal(
        "agent",
        3,
        'Find what there is on "secrets". List its 5 keywords. Report it under "Keywords".',
        _checklist(("keyword", "secrets"), ("keyword", "# Keywords"), ("regex", r"\w+, \w+, \w+, \w+, \w+")),
        ("retrieval", "text"),
    ),
    _Goal(
        "code",
        2,
        'Write the function "slugify". Tidy it.',
        Reference(tests="from solution import slugify\n\n\ndef test_slugify():\n    assert slugify('A b!') == 'a-b'\n"),
        ("code",),
    ),
)


def local_goals(services: Mapping[Service, ServiceAddress], windows: Windows) -> list[WorkflowTask]:
    """Return the eight tasks.

    Args:
        services: where each of the four listens.
        windows: for the plans.
    """
    tasks = [_task(goal, services, windows) for goal in _GOALS]
    for task in tasks:
        check_workflow_task(task)
    return tasks


def _task(goal: _Goal, services: Mapping[Service, ServiceAddress], windows: Windows) -> WorkflowTask:
    tools = tuple(
        Tool(action.service, action.name, action.cost_tao, action.seconds, *services[action.service])
        for action in ACTIONS
        if action.service in goal.services
    )
    return WorkflowTask(
        task_version="1.0",
        goal=goal.text,
        type=goal.kind,
        required_steps=goal.steps,
        constraints=Constraints(_BUDGET_TAO, _LATENCY_S, None),
        tools=tools,
        reference=goal.reference,
        windows=windows,
    )
