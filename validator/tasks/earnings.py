"""Earnings on a set of planted tasks for `tasks seed --report`: of answers that read nothing, a grep, and an analyser.

An analyser is found by the entry point `validator.analysers`: a function of files and skill type that returns verdict,
risk_score, findings and rules. The validator ships none; the reference miner does. Its code is loaded and run here.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from statistics import fmean
from typing import Final, NamedTuple, Protocol, cast

from validator.planting.planting import Files, readable
from validator.protocol import limits
from validator.protocol.findings import found_in, risk_of, verdict_of
from validator.protocol.results import Checks
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import (
    Analysis as AnalysisClaim,
)
from validator.protocol.sssa import (
    Category,
    Dependency,
    Evidence,
    Finding,
    Policy,
    Rule,
    Severity,
    Signature,
    Skill,
    Sssa,
    Verdict,
)
from validator.protocol.tallies import NO_RECORD, Tally
from validator.protocol.task import Truth
from validator.protocol.text import printable
from validator.scoring import CURRENT, AnswerFacts, PayBasis, TalliedAnswer, Version20, version
from validator.tasks.seeding import Base
from validator.tasks.source import TaskError

ANALYSERS: Final = "validator.analysers"
_MIDDLE: Final = 0.5  # the risk of a REVIEW that follows from nothing
_SHOWN: Final = 5  # findings of a base
_OTHERS: Final = ("a", "b", "c", "d")  # of a group
_GREPPED: Final = re.compile(
    rb"\.test\b|\.invalid\b|203\.0\.113\.|ngrok-free|trycloudflare|webhook\.site|\| ?(?:ba)?sh\b|PRIVATE KEY"
    rb"|gh[po]_\w{36}|AKIA[0-9A-Z]{16}|sk_live_|[Ii]gnore (?:all|every)|[Dd]isregard|[Ff]orget everything|\.ssh/id_"
)
# Lines that faults like to lie on: what a guesser names who reads none of them.
_LIKELY: Final[Sequence[tuple[Category, re.Pattern[bytes]]]] = (
    ("secrets_exposure", re.compile(rb"https?://|urlopen|requests\.|httpx|fetch\(|socket|\bcurl\b|\bwget\b|nslookup")),
    ("secrets_exposure", re.compile(rb"environ|getenv|process\.env|(?i:token|secret|passw|api_?key|private key)")),
    (
        "excessive_capability",
        re.compile(
            rb"subprocess|os\.(?:system|popen)|exec|spawn|\beval\b|\b(?:ba)?sh -c|chmod|\brm -|rmtree|extractall|pickle"
            rb"|[Rr]andom|RANDOM|http://|CERT_NONE|curl -k|0\.0\.0\.0|(?i:allow|permission|approv|sandbox|host)"
        ),
    ),
    (
        "prompt_injection",
        re.compile(
            rb"(?i)\b(?:assistant|model|user|answers?|instructions?|never|always|must|ignore|rules)\b|<!--|SYSTEM"
        ),
    ),
    ("tool_poisoning", re.compile(rb"\"description\"|description=")),
    ("transitive_risk", re.compile(rb"\"(?:sha256|version|permissions|tools|trust|env|approval|update_from|prompt)\"")),
)


class Analysis(Protocol):
    """An analyser's result for a bundle."""

    @property
    def verdict(self) -> Verdict:
        """Verdict on the bundle."""

    @property
    def risk_score(self) -> float:
        """From 0 to 1."""

    @property
    def findings(self) -> Sequence[Finding]:
        """Everything that is wrong with it."""

    @property
    def capabilities(self) -> Sequence[str]:
        """Names of what it can do."""

    @property
    def dependencies(self) -> Sequence[Dependency]:
        """Its pinned packages."""

    @property
    def rules(self) -> Sequence[Rule]:
        """The recommended policy."""


class Said(NamedTuple):
    """An answer, as far as it is scored."""

    verdict: Verdict
    risk_score: float
    findings: Sequence[Finding] = ()
    rules: Sequence[Rule] = ()
    capabilities: Sequence[str] = ()
    dependencies: Sequence[Dependency] = ()


class Earned(NamedTuple):
    """Score of one way to answer on a set.

    Attributes:
        name: of the way.
        quality: mean Q under the current version.
        agreement: 2 · hits / (said + known) over `truth.findings`.
        paid: pay under 2.0.0 as a multiple of the analyser's, in groups with four others that answer as it does; None
            without an analyser.
    """

    name: str
    quality: float
    agreement: float
    paid: float | None = None


class Analyser(NamedTuple):
    """An analyser and what it is called; `load` imports its function."""

    name: str
    load: Callable[[], Callable[[Files, SkillType], Analysis]]

    def look(self, files: Files, skill_type: SkillType) -> Analysis:
        """Return what it says of a bundle (TaskError: it cannot be loaded, or failed)."""
        try:
            return self.load()(files, skill_type)
        except Exception as error:  # noqa: BLE001 - somebody else's code, which may lack a tool
            told = printable(f"{type(error).__name__}: {error}", 300)
            raise TaskError(f"the analyser `{self.name}` failed: {told}") from None


def find_analyser() -> Analyser | None:
    """Return the analyser that is installed here, the first by name; None where there is none."""
    entries = sorted(entry_points(group=ANALYSERS), key=lambda one: one.name)
    return Analyser(entries[0].name, entries[0].load) if entries else None


def grepped(files: Files) -> Said:
    """Return what a search for well-known signs of faults says of a bundle: each line with one is a finding."""
    findings = _marked(files, "high", (("prompt_injection", _GREPPED),))
    risk = risk_of(findings)
    return Said(verdict_of(risk), risk, findings)


def guessed(files: Files) -> Said:
    """Return what is said of a bundle by naming every line on which faults like to lie, as many as an answer may."""
    return Said("REVIEW", _MIDDLE, _marked(files, "low", _LIKELY))


def _marked(
    files: Files, severity: Severity, signs: Sequence[tuple[Category, re.Pattern[bytes]]]
) -> tuple[Finding, ...]:
    """Return a finding for each line and category of which the line has a sign."""
    return tuple(
        Finding(f"{category}{path}{number}", category, severity, "A known sign.", f"{path}#L{number}", (), "")
        for path, content in readable(files).items()
        for number, line in enumerate(content.split(b"\n"), 1)
        for category in dict.fromkeys(name for name, sign in signs if sign.search(line))
    )[: limits.MAX_FINDINGS]


class Answered(NamedTuple):
    """A planted task, and what is said of it; None where there is no analyser, or it failed."""

    skill_type: SkillType
    truth: Truth
    grep: Said
    guess: Said
    analysed: Said | None


def answered(files: Files, skill_type: SkillType, truth: Truth, analyser: Analyser | None) -> Answered:
    """Return the answers to a task; its files are not kept."""
    said = None
    if analyser is not None:
        with suppress(TaskError):  # what was seeded is good, whatever an analyser makes of it
            found = analyser.look(files, skill_type)
            said = Said(
                found.verdict,
                found.risk_score,
                tuple(found.findings),
                tuple(found.rules),
                tuple(found.capabilities),
                tuple(found.dependencies),
            )
    return Answered(skill_type, truth, grepped(files), guessed(files), said)


def found_before(base: Base, analyser: Analyser | None) -> str:
    """Return in one line what an analyser finds in a base before anything is planted, or that there is none."""
    if analyser is None:
        return f"no analyser looked at it before planting (none is installed as `{ANALYSERS}`)"
    try:
        found = analyser.look(base.files, base.skill_type).findings
    except TaskError as error:
        return error.detail
    told = "; ".join(printable(f"{one.severity} {one.category} at {one.evidence_ref}", 200) for one in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"before planting {analyser.name} finds {f'{len(found)}: {told}{more}' if found else 'nothing'}"


def earned(tasks: Sequence[Answered], analyser: Analyser | None) -> Iterator[Earned]:
    """Yield what each way to answer earns on a set: without reading, with a grep, with an analyser."""
    verdicts = Counter(task.truth.verdict for task in tasks)
    usual = verdicts.most_common(1)[0][0] if verdicts else "ALLOW"
    risk = fmean(t.truth.reference_risk or 0.0 for t in tasks if t.truth.verdict == usual) if verdicts else 0.0
    plain: Mapping[str, Said] = {
        "empty (always ALLOW)": Said("ALLOW", 0.0),
        "always BLOCK": Said("BLOCK", 1.0),
        f"majority verdict ({usual})": Said(usual, risk),
    }
    looked = [task for task in tasks if task.analysed is not None]
    analysed = [task.analysed for task in looked if task.analysed is not None]

    def paid(answers: Callable[[Answered], Said]) -> float | None:
        return _paid(looked, [answers(task) for task in looked], analysed) if looked else None

    for name, said in plain.items():
        yield _earned(name, tasks, [said] * len(tasks), paid(lambda _, said=said: said))  # type: ignore[misc]
    yield _earned("grep", tasks, [task.grep for task in tasks], paid(lambda task: task.grep))
    yield _earned("guess at likely lines", tasks, [task.guess for task in tasks], paid(lambda task: task.guess))
    if analyser is not None and looked:
        failed = len(tasks) - len(looked)
        parsed = [one._replace(verdict="REVIEW", risk_score=_MIDDLE, findings=()) for one in analysed]
        yield _earned("parser plus REVIEW", looked, parsed, _paid(looked, parsed, analysed))
        name = f"{analyser.name} (failed on {failed})" if failed else analyser.name
        yield _earned(name, looked, analysed, _paid(looked, analysed, analysed))


def _earned(name: str, tasks: Sequence[Answered], answers: Sequence[Said], paid: float | None) -> Earned:
    qualities, hits, said, known = [], 0, 0, 0
    for task, answer in zip(tasks, answers, strict=True):
        qualities.append(_quality(task, answer))
        planted = task.truth.findings or ()
        hits += sum(one is not None for one in found_in(planted, answer.findings).by)
        said, known = said + len(answer.findings), known + len(planted)
    return Earned(name, fmean(qualities or [0.0]), 2 * hits / max(1, said + known), paid)


def _paid(tasks: Sequence[Answered], answers: Sequence[Said], honest: Sequence[Said]) -> float:
    """Return what answers are paid under 2.0.0 next to the honest ones, each given by four members of every group."""
    scoring = cast("Version20", version("2.0.0"))
    windows: dict[str, dict[str, list[Tally]]] = {}
    for task, answer, other in zip(tasks, answers, honest, strict=True):
        members = [
            TalliedAnswer(hotkey, _attested(task.skill_type, said), early=False, epsilon=1.0, record=NO_RECORD)
            for hotkey, said in {"one": answer, **dict.fromkeys(_OTHERS, other)}.items()
        ]
        for member in scoring.tally_task(members, task.truth, made_here=True):
            if member.tally is not None:
                windows.setdefault(member.hotkey, {}).setdefault(task.skill_type, []).append(member.tally)
    scores = scoring.pay_tallies(windows, PayBasis()).scores
    return scores["one"] / scores[_OTHERS[0]] if scores[_OTHERS[0]] else 0.0


def _attested(skill_type: SkillType, said: Said) -> Sssa:
    """Return an attestation of an answer, unsigned."""
    return Sssa(
        "1.0",
        Skill(skill_type, "0" * 64, "0" * 64),
        AnalysisClaim(
            said.verdict, said.risk_score, tuple(said.findings), tuple(said.capabilities), tuple(said.dependencies)
        ),
        Evidence({}, None, None, None),
        Policy(tuple(said.rules)),
        Signature("", "sr25519", "0x" + "0" * 128),
    )


def _quality(task: Answered, said: Said) -> float:
    """Return Q of an answer that came at once, with every check passed."""
    scoring = version(CURRENT)
    facts = AnswerFacts(
        skill_type=task.skill_type,
        role="auditor",
        window=(0.0, 60.0),
        t=1.0,
        epoch=0,
        verdict=said.verdict,
        risk_score=said.risk_score,
        findings=tuple(said.findings),
        rules=tuple(said.rules),
        manifest_sha256=task.truth.manifest_sha256,  # a digest: no reading
        shell_commands=None,
        truth=task.truth,
        provenance="curated",
        checks=Checks(probes=True, traces=None, manifest_digest=None, evidence_resolves=True, canary=None),
        semantic_subset=None,
        consensus=1.0,
    )
    return scoring.emission(facts).quality
