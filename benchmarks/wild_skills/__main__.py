"""Recall on malicious skills and alarms on their twins (`python -m wild_skills`); alarms on popular packages.

Prints two tables; with a folder of packed tasks (`validator tasks pack --manifest`) the second one, too.
"""

import re
import resource
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from miner.analysis import Analysis, analyse
from sssa.protocol.bundles import read_bundle
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import parse_task

HERE: Final = Path(__file__).parent
HALVES: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
_PARTS: Final = {
    "<HOST>": ("assets-sync", ".invalid"),
    "<KEY>": ("id_", "rsa"),
    "<ENV>": ("process", ".env"),
    "<EVAL>": ("ev", "al"),
    "<CURL>": ("cu", "rl"),
}
_TAG_BASE: Final = 0xE0000


class Skill(NamedTuple):
    """One skill in both forms: its files with the fault and without."""

    name: str
    skill_type: SkillType
    bad: Mapping[str, bytes]
    good: Mapping[str, bytes]


def skills(half: str) -> Iterator[Skill]:
    """Yield the skills of one file, such as `first`, put together here: none exists ready to run."""
    for one in tomllib.loads((HERE / f"{half}.toml").read_text("utf-8"))["skill"]:
        made = []
        for form in ("bad", "good"):
            files = {one["path"]: one["text"], **one.get("files", {})}
            parts = iter(one[form] if isinstance(one[form], list) else [one[form]])
            filled = {path: _assembled(_filled(text.lstrip("\n"), parts)) for path, text in files.items()}
            made.append({path: content for path, content in filled.items() if content})
        yield Skill(one["name"], SkillType(one.get("type", "declarative")), made[0], made[1])


def _filled(text: str, parts: Iterator[str]) -> str:
    return re.sub("@@", lambda _: next(parts), text)


def _assembled(text: str) -> bytes:
    for name, parts in _PARTS.items():
        text = text.replace(name, "".join(parts))
    while "<TAGS:" in text:
        before, _, rest = text.partition("<TAGS:")
        hidden, _, after = rest.partition(">")
        text = before + "".join(chr(_TAG_BASE + ord(c)) for c in hidden) + after
    return text.encode()


def is_flagged(analysis: Analysis) -> bool:
    """Return whether somebody would look: a verdict other than ALLOW, or a finding of more than low severity."""
    return analysis.verdict != "ALLOW" or any(f.severity != "low" for f in analysis.findings)


def wild(half: str) -> list[tuple[Skill, Analysis, Analysis]]:
    """Return the analyses of both forms of each skill."""
    return [(one, analyse(one.bad, one.skill_type), analyse(one.good, one.skill_type)) for one in skills(half)]


def main(folder: Path | None) -> None:
    """Print the tables."""
    print("| skills | BLOCK | REVIEW | ALLOW | recall | twins flagged |\n|---|---|---|---|---|---|")
    for half in HALVES:
        if not (HERE / f"{half}.toml").is_file():
            continue
        results = wild(half)
        verdicts = Counter(bad.verdict for _, bad, _ in results)
        recall = (len(results) - verdicts["ALLOW"]) / len(results)
        twins = sum(is_flagged(good) for *_, good in results)
        counts = " | ".join(str(verdicts[name]) for name in ("BLOCK", "REVIEW", "ALLOW"))
        print(f"| {half}, {len(results)} | {counts} | {recall:.2f} | {twins} |")
        for one, bad, good in results:
            if bad.verdict == "ALLOW" or is_flagged(good):
                print(f"  {one.name}: {bad.verdict}, twin {good.verdict} {[f.description for f in good.findings]}")
    if folder is not None:
        popular(folder)


def popular(folder: Path) -> None:
    """Print the verdicts on packages that many use, each a task's folder below `folder`."""
    verdicts: Counter[str] = Counter()
    medium, paths = 0, sorted(folder.glob("*/task.json"))
    print("\n| package | verdict | risk | medium or more | low | CPU, s |\n|---|---|---|---|---|---|")
    for path in paths:
        task = parse_task(path.read_bytes())
        before = _processor_time()
        analysis = analyse(read_bundle((path.parent / "bundle.tar.gz").read_bytes()), SkillType(task.skill_type))
        severe = [f for f in analysis.findings if f.severity != "low"]
        low, spent = len(analysis.findings) - len(severe), _processor_time() - before
        verdicts[analysis.verdict] += 1
        medium += len(severe)
        print(
            f"| {path.parent.name} | {analysis.verdict} | {analysis.risk_score} | {len(severe)} | {low} | {spent:.2f} |"
        )
        for finding in severe:
            print(f"  {finding.severity} {finding.category} {finding.evidence_ref}: {finding.description[:120]}")
    rate = medium / len(paths) if paths else 0.0
    print(f"\n{len(paths)} packages: {dict(verdicts)}, {rate:.2f} findings of medium or higher severity a package")


def _processor_time() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
