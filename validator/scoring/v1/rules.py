"""Every number of version 1.0.0 (SPEC 1, 4 to 12): this page holds them all, and it never changes."""

from types import MappingProxyType
from typing import Final

from validator.protocol.skill_types import SkillType
from validator.protocol.task import Windows
from validator.scoring.constants import (
    CollusionRules,
    ConsensusRules,
    EmissionRules,
    ExecutionRules,
    GroupRules,
    PayRules,
    QualityRules,
    ReputationRules,
    Rules,
    Step,
    TypeRules,
    Weighted,
    WorkflowRules,
)


def _axes(alpha: float, pi: float, **extra: float) -> Weighted:
    return (("alpha", alpha), ("pi", pi), ("eta", 0.05), *extra.items())


_TYPES: Final = {
    SkillType.RAG_KNOWLEDGE: TypeRules(
        base_weight=0.5,
        windows=Windows(primary=(5, 45), auditor=(2, 15)),
        axes=_axes(0.45, 0.20, rho=0.15),
        baseline=0.35,
    ),
    SkillType.DECLARATIVE: TypeRules(
        base_weight=0.7,
        windows=Windows(primary=(10, 90), auditor=(3, 30)),
        axes=_axes(0.45, 0.20, mu=0.10),
        baseline=0.40,
    ),
    SkillType.EXECUTABLE_PYTHON: TypeRules(
        base_weight=1.0,
        windows=Windows(primary=(30, 300), auditor=(10, 90)),
        axes=_axes(0.45, 0.20),
        baseline=0.50,
    ),
    SkillType.EXECUTABLE_SCRIPT: TypeRules(
        base_weight=1.2,
        windows=Windows(primary=(30, 300), auditor=(10, 90)),
        axes=_axes(0.40, 0.20, sigma=0.10),
        baseline=0.48,
    ),
    SkillType.MCP_SERVER: TypeRules(
        base_weight=1.6,
        windows=Windows(primary=(60, 600), auditor=(20, 150)),
        axes=_axes(0.35, 0.15, psi=0.10, tau=0.10),
        baseline=0.45,
        bootstrapped=True,
    ),
    SkillType.AGENT_COMPOSITION: TypeRules(
        base_weight=2.0,
        windows=Windows(primary=(120, 900), auditor=(30, 240)),
        axes=_axes(0.35, 0.15, chi=0.10),
        baseline=0.40,
        bootstrapped=True,
    ),
}

RULES: Final = Rules(
    types=MappingProxyType(_TYPES),
    groups=GroupRules(
        slots_per_type=2,
        primaries=3,
        auditors=2,
        ejecting_flags=3,
        max_failure_rate=0.5,
        min_failure_samples=5,
        history_rounds=30,
        rotation_streak=3,
        canary_slots=2,
    ),
    consensus=ConsensusRules(
        min_valid=3,
        components=(
            ("findings_recall", 0.30),
            ("findings_precision", 0.15),
            ("verdict_agreement", 0.15),
            ("capabilities_agreement", 0.15),
            ("risk_agreement", 0.10),
            ("dependencies_agreement", 0.10),
            ("policy_agreement", 0.05),
        ),
        review=0.5,
        packages=0.5,
        cves=0.5,
    ),
    quality=QualityRules(
        provenance=MappingProxyType({"curated": 1.0, "canary": 1.0, "consensus": 0.7}),
        review=0.5,
        wrong=0.4,
        block_slope=0.4,
        allow_slope=2.5,
        beta=0.5,
        early=0.25,
        late_loss=0.4,
        injection_rumour=0.8,
        transitive_slope=2.0,
        floor=0.10,
        evidence=(
            ("probes", 0.3),
            ("traces", 0.3),
            ("manifest_digest", 0.2),
            ("evidence_resolves", 0.2),
            ("canary", 0.2),
        ),
        min_witnesses=2,
    ),
    emission=EmissionRules(
        tiers=(Step(1.0, 0.5), Step(1.125, 1.0), Step(1.5, 1.4)),
        top_tier=2.0,
        early_bonuses=(Step(0.25, 1.15), Step(0.50, 1.08)),
        auditor=0.6,
        bootstrap_epochs=30,
        bootstrap=1.5,
    ),
    collusion=CollusionRules(
        window=30,
        min_samples=5,
        primaries_above=0.90,
        auditors_below=0.60,
        worse=0.8,
        witnesses=0.60,
    ),
    reputation=ReputationRules(
        start=0.5,
        floor=0.2,
        recovery=0.005,
        high=0.7,
        low=0.4,
        gains=MappingProxyType({"consensus_high": 0.02, "rerun_pass": 0.02}),
        factors=MappingProxyType(
            {
                "consensus_low": 0.95,
                "invalid": 0.7,
                "probe_fail": 0.7,
                "rerun_fail": 0.7,
                "violation": 0.5,
                "digest_mismatch": 0.5,
                "collusion_flag": 0.6,
            }
        ),
        gates=MappingProxyType({2: "invalid", 3: "violation", 4: "digest_mismatch", 5: "violation", 6: "probe_fail"}),
    ),
    pay=PayRules(window=100, warm_up=20, cap=0.15, workflow_part=0.25, full_share_miners=7),
    workflow=WorkflowRules(
        windows=Windows(primary=(0, 30), auditor=(0, 30)),
        parts=(("success", 0.50), ("cost", 0.25), ("latency", 0.15), ("reliability", 0.10)),
        gate=0.7 + 1e-12,
        unplanned=0.10,
        timeout=0.20,
        hard_failure=0.50,
        budget=1.5,
        run=1.5,
        tests=0.7,
        lint=0.3,
        finding=0.05,
    ),
    execution=ExecutionRules(
        min_stable=4,
        missing_files=10,
        shared=0.7,
        invented=10,
        family=9,
        small_family=2,
        unpaid_fails=3,
        results=10,
        rounds=200,
    ),
)
