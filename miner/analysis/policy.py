"""The policy that an analysis recommends: what the skill uses is allowed by name, everything else is denied."""

from collections import defaultdict
from collections.abc import Iterable
from urllib.parse import urlsplit

from miner.analysis.bounds import MAX_PATTERNS
from miner.analysis.result import Use
from validator.protocol import vocabulary as cap
from validator.protocol.sssa import Finding, Rule
from validator.protocol.vocabulary import ANY, pattern_fault


def rules_for(uses: Iterable[Use], findings: Iterable[Finding]) -> tuple[Rule, ...]:
    """Return the rules, sorted.

    Per resource: each pattern in use is allowed, or denied where a finding of high or critical severity is about it;
    `*` is put to review when some use has no pattern, else denied. Variables of the environment are denied where
    secrets are sent away.
    """
    severe = [f for f in findings if f.severity in ("high", "critical")]
    bad_places = {f.evidence_ref for f in severe}
    leaking = any(f.category == "secrets_exposure" and f.severity == "critical" for f in severe)
    bad_targets = {name for f in severe for name in (f.target_pattern, host_of(f.target_pattern)) if name}
    patterns: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    open_ended = set()
    resource_of = {capability: name for name, one in cap.RESOURCES.items() for capability in one.capabilities}
    for use in uses:
        resource = resource_of[use.capability]
        if use.pattern == ANY or pattern_fault(resource, use.pattern):
            open_ended.add(resource)
            continue
        leaked = leaking and resource == "environment"
        bad = leaked or use.place in bad_places or use.pattern in bad_targets
        patterns[resource][use.pattern] = patterns[resource].get(use.pattern, False) or bad
    rules = {
        Rule(resource, "deny" if bad else "allow", pattern)
        for resource, known in patterns.items()
        for pattern, bad in sorted(known.items())[:MAX_PATTERNS]
    }
    rules |= {Rule(resource, "review" if resource in open_ended else "deny", "*") for resource in cap.RESOURCES}
    return tuple(sorted(rules, key=lambda rule: (rule.resource, rule.action, rule.pattern)))


def host_of(url: str) -> str:
    """Return the host of a URL, lower case; empty if the text is none."""
    try:
        return (urlsplit(url).hostname or "") if "://" in url else ""
    except ValueError:
        return ""
