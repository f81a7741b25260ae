"""What calls should not do with what they are given: one rule per family."""

import ast
from collections.abc import Callable, Iterator
from typing import Final

from miner.analysis import python_code_sinks as code
from miner.analysis import python_program_sinks as program
from miner.analysis import python_system_sinks as system
from miner.analysis.python_flow import Flow
from miner.analysis.python_site import Hit, Site

_RULES: Final[tuple[Callable[[Site], Hit | None], ...]] = (
    code.evaluated,
    code.computed,
    program.started,
    program.managed,
    program.through_shell,
    code.unpickled,
    code.loaded,
    code.unsafe_yaml,
    system.unverified,
    code.hidden_builtin,
    system.persistent,
    system.deleted,
    program.duplicated,
)


def hits_of(flow: Flow, node: ast.Call) -> Iterator[Hit]:
    """Yield what the rules object to in a call."""
    for position, one in enumerate(flow.calls(node)):
        names = tuple(s for s in one.function.symbols if not s.startswith("def "))
        site = Site(names, one, node, flow, position > 0)
        for rule in _RULES:
            hit = rule(site)
            if hit is not None:
                yield hit
