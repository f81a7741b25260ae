"""Analysers of the bundles: the reference miner, its careless variants, and bandit alone."""

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from miner.analysis import analyse
from miner.behaviours import NOTHING, careless, with_gaps
from real_skills.recall import Analyser, Files
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Category, Finding

REFERENCE: Final = "reference miner"
_WHO: Final = "somebody"  # what a behaviour overlooks follows from a name
_SECRETS: Final = frozenset({"B105", "B106", "B107"})

T = TypeVar("T")


def analysers() -> dict[str, Analyser]:
    """Return them by name, the reference miner first; each looks once at the same bundle."""
    reference = _once(analyse)
    return {
        REFERENCE: lambda files, kind: reference(files, kind).findings,
        "`partial`, overlooks a quarter": lambda files, kind: with_gaps(reference(files, kind), _WHO).findings,
        "`sloppy`, overlooks two thirds": lambda files, kind: (
            careless(reference(files, kind), files, _WHO, _digest(files)).findings
        ),
        "`lazy`, finds nothing": lambda _files, _kind: NOTHING.findings,
        "bandit alone, on Python": _once(bandit_alone),
    }


def bandit_alone(files: Files, _kind: SkillType) -> Sequence[Finding]:
    """Return what bandit, as it comes, says of the Python files: a password is a secret, the rest capability."""
    with warnings.catch_warnings():  # its plugins are loaded in a way that is going out of use
        warnings.simplefilter("ignore")
        from bandit.core.config import BanditConfig  # noqa: PLC0415 - it takes a second
        from bandit.core.manager import BanditManager  # noqa: PLC0415 - see above

    logging.getLogger("bandit").disabled = True
    with tempfile.TemporaryDirectory(prefix="real-skills-bandit-") as made:
        root = Path(made).resolve()
        paths = [root / path for path in files if path.endswith(".py")]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[str(path.relative_to(root))])
        manager = BanditManager(BanditConfig(), "file")
        manager.discover_files([str(path) for path in paths])
        manager.run_tests()
        return list(_findings(manager.get_issue_list(), root))


def _findings(issues: Sequence[Any], root: Path) -> Iterator[Finding]:
    for number, issue in enumerate(issues):
        category: Category = "secrets_exposure" if issue.test_id in _SECRETS else "excessive_capability"
        path = Path(issue.fname).relative_to(root)
        place = f"{path}#L{max(issue.lineno, 1)}"
        yield Finding(f"b{number}", category, "medium", issue.test_id, place, (), str(path))


def _once(look: Callable[[Files, SkillType], T]) -> Callable[[Files, SkillType], T]:
    made: dict[tuple[str, SkillType], T] = {}

    def looked(files: Files, kind: SkillType) -> T:
        key = _digest(files), kind
        if key not in made:
            made[key] = look(files, kind)
        return made[key]

    return looked


def _digest(files: Files) -> str:
    return sha256_hex(b"".join(f"{path}\0{sha256_hex(content)}\n".encode() for path, content in sorted(files.items())))
