"""A gate, a reason and a metric: added as docs/architecture.md says, used, and thrown away."""

from pathlib import Path

from recipe_kit import Tree

GATES = "sssa/kinds/assessment/gates.py"
REASONS = "sssa/protocol/reasons.py"
METRICS = "validator/telemetry/metrics.py"


def test_a_gate_rejects_with_its_own_reason_from_its_own_version_on(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.put(REASONS, '"probes", "semantics")', '"probes", "coherence", "semantics")')
    tree.after(
        REASONS,
        "    PROBES_ABSENT = ",
        """
    # Gate 7: coherence
    COHERENCE_VERDICT = "coherence_verdict", "The answer allows what it gives the highest risk.", 7
""",
    )
    tree.put(
        GATES,
        "\nGATES: Final",
        '''
def coherence(case: Case) -> Reason | None:
    """Gate 7, not for rounds of 1.0.0: the answer allows what it gives the highest risk."""
    said = case.sssa.analysis
    held = case.expected.scoring_version == "1.0.0" or (said.verdict, said.risk_score) != ("ALLOW", 1.0)
    return None if held else Reason.COHERENCE_VERDICT


GATES: Final''',
    )
    tree.put(GATES, "traces, probes)\n", "traces, probes, coherence)\n")
    tree.put("docs/spec.md", "\n| 7 | semantics |", "\n| 8 | semantics |")
    tree.after("docs/spec.md", "| 6 | probes |", "| 7 | coherence | risk 1 is allowed | coherence_verdict | – |\n")
    tree.use("""
        from dataclasses import replace
        from builders import bend, expect, make_answer, make_task
        from test_docs_numbers import test_the_table_of_gates_has_every_code_and_its_reputation_event as told
        from validator.cli.reference import pages
        from sssa.kinds.assessment.gates import applying_gates
        from sssa.kinds.assessment.judge import judge
        from sssa.protocol.reasons import Reason, gate_of
        from sssa.protocol.results import Rejection
        from sssa.sources import SystemClock
        from validator.telemetry.metrics import Metrics

        task = make_task()
        now, later = expect(task), replace(expect(task), scoring_version="2.0.0")
        risky = bend(make_answer(task), "sssa.analysis.risk_score", 1.0)
        found = judge(later, risky, 2.0)
        assert isinstance(found.result, Rejection) and found.reason == "coherence_verdict", found
        assert judge(now, risky, 2.0).reason == "accepted"
        assert judge(later, bend(make_answer(task), "sssa.analysis.risk_score", 0.9), 2.0).reason == "accepted"
        assert tuple(applying_gates(task, "primary")) == (1, 2, 3, 4, 5, 6, 7)
        assert gate_of(Reason("coherence_verdict")) == 7
        page = pages()["reasons.md"]
        assert "| Gate 7: coherence |" in page and "| `coherence_verdict` | The answer allows" in page
        assert b'validator_dispatches_total{reason="coherence_verdict"} 0.0' in Metrics(SystemClock(), "1").render()
        told()
    """)
    tree.holds("a gate")


def test_a_reason_is_explained_listed_and_counted(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.after(
        REASONS,
        "    WEIGHTS_DISABLED = ",
        '    WEIGHTS_HOLIDAY = "weights_holiday", "The subnet takes no weights today."\n',
    )
    tree.after(
        "docs/operators/three-in-the-morning.md",
        "| `weights_sent` |",
        "| `weights_holiday` | the subnet rests | nothing to do |\n",
    )
    tree.use("""
        from test_docs_names import test_every_reason_is_told_to_operators_or_in_the_specification as told
        from validator.cli.reference import pages
        from sssa.protocol.reasons import Reason, meaning_of
        from sssa.sources import SystemClock
        from validator.telemetry.metrics import Metrics

        assert meaning_of(Reason("weights_holiday")) == "The subnet takes no weights today."
        assert "| `weights_holiday` | The subnet takes no weights today. |" in pages()["reasons.md"]
        metrics = Metrics(SystemClock(), "1")
        metrics.observe("weights_blocked", {"reason": "weights_holiday"})
        assert b'validator_weights_blocked{reason="weights_holiday"} 1.0' in metrics.render()
        told()
    """)
    tree.holds("a reason")


def test_a_metric_is_counted_from_an_event_of_the_log(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.after(
        METRICS,
        "        self.pruned = ",
        '        self.postponed = made.counter("retention_postponed", "How often retention waited for the store.")\n',
    )
    tree.after(
        METRICS,
        "            Event.RETENTION_PRUNED: ",
        "            Event.RETENTION_POSTPONED: lambda _: self.postponed.inc(),\n",
    )
    tree.use("""
        from sssa.sources import SystemClock
        from validator.telemetry.metrics import Metrics

        metrics = Metrics(SystemClock(), "1")
        assert b"validator_retention_postponed_total 0.0" in metrics.render()
        metrics.observe("retention_postponed", {"reason": "busy"})
        assert b"validator_retention_postponed_total 1.0" in metrics.render()
    """)
    tree.holds("a metric")
