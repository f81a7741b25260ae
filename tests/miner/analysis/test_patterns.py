"""Patterns of the reference miner's rules: in the form that checks of tasks take, or none at all."""

from hypothesis import given
from hypothesis import strategies as st

from miner.analysis import analyse, rules_for
from miner.bundles.written import written_bundles
from miner.scanners.scanner import Use
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Rule
from sssa.protocol.vocabulary import CAPABILITIES
from taskmaker.check import unmeetable_rules, without_rest

ODD = st.text(alphabet="ab.A/:*$ (\n=", max_size=8)
USES = st.lists(st.tuples(st.sampled_from(sorted(CAPABILITIES)), ODD), max_size=12)


@given(USES)
def test_no_rule_of_any_uses_is_one_that_nothing_meets(uses: list[tuple[str, str]]) -> None:
    rules = rules_for([Use(capability, "a.py#L1-L1", pattern) for capability, pattern in uses], [])
    assert list(unmeetable_rules(rules, "rules")) == []
    assert without_rest(rules) == []


def test_what_is_true_of_the_written_bundles_can_be_met() -> None:
    for bundle in written_bundles():
        rules = bundle.truth.policy_rules or ()
        assert (list(unmeetable_rules(rules, bundle.name)), without_rest(rules)) == ([], [])


def test_a_host_has_no_port() -> None:
    python = b"import http.client\nhttp.client.HTTPSConnection('Api.Example:8443')\n"
    script = b"const net = require('net');\nnet.connect(8443, 'js.example:8443');\n"
    rules = analyse({"main.py": python, "index.js": script}, SkillType.EXECUTABLE_PYTHON).rules
    hosts = {Rule("network", "allow", "api.example"), Rule("network", "allow", "js.example")}
    assert hosts <= set(rules)
