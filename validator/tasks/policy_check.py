"""Expected policy rules that no analysis can meet: other words than the vocabulary's, rules that exclude each other."""

from collections.abc import Iterator, Sequence

from validator.protocol.patterns import ANY, pattern_fault
from validator.protocol.sssa import Rule
from validator.protocol.text import printable
from validator.protocol.vocabulary import ACTIONS, RESOURCES


def unmeetable_rules(rules: Sequence[Rule], where: str) -> Iterator[str]:
    """Yield one text per rule that no analysis would write, with its field below `where`."""
    first: dict[tuple[str, str], int] = {}
    for i, rule in enumerate(rules):
        fault = _fault(rule)
        if fault is not None:
            field, text = fault
            yield f"{text} - at `{where}[{i}].{field}`"
            continue
        j = first.setdefault((rule.resource, rule.pattern), i)
        if j == i:
            continue
        if rules[j].action == rule.action:
            yield f"the same rule as `{where}[{j}]` - at `{where}[{i}]`"
        else:
            text = f"`{where}[{j}]` says `{rules[j].action}` of the same pattern, and an analysis says one of the two"
            yield f"{text} - at `{where}[{i}].action`"


def without_rest(rules: Sequence[Rule]) -> list[str]:
    """Return the resources that have no rule for `*`; an analysis has one for each."""
    closed = {rule.resource for rule in rules if rule.pattern == ANY}
    return [name for name in RESOURCES if name not in closed]


def _fault(rule: Rule) -> tuple[str, str] | None:
    """Return the first field that an analysis would not write, and why."""
    if rule.resource not in RESOURCES:
        return "resource", f"`{printable(rule.resource, 60)}` is no resource: {', '.join(RESOURCES)}"
    if rule.action not in ACTIONS:
        return "action", f"`{printable(rule.action, 60)}` is no action: {', '.join(ACTIONS)}"
    if rule.pattern == ANY and rule.action == "allow":
        return "action", "`*` is denied or put to review, never allowed"
    if rule.pattern != ANY and rule.action == "review":
        return "pattern", "only `*` is put to review"
    fault = pattern_fault(rule.resource, rule.pattern)
    return ("pattern", f"`{printable(rule.pattern, 60)}` {fault}") if fault else None
