"""The engine of Semgrep CE: runs rules over targets in a process, offline, and gives back matches.

It is the binary `semgrep-core` of the kept package `semgrep`, started without its command line: no metrics, no check
for versions, no home folder, an empty environment. Its limits are of processor time and memory, never of the clock: an
engine that waits for a processor finds what it finds on an idle machine.
"""

import importlib.util
import json
import re
import resource
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from miner.scanners.scanner import Target

Rules = str | dict[str, Any]
"""The name of a file of rules, or one rule."""

CPU_S: Final = 3  # of processor time for all targets together: twice what any honest bundle takes
ALONE_CPU_S: Final = 1  # for a target alone, where all together took too long
_ALONE: Final = 64  # targets that are tried alone
_MOST_KILLS: Final = 4  # of those: the rest is unread then
_ONE_SOURCE: Final = 2  # groups, that of texts among them: it is the source then that takes too long
_HUNG_S: Final = 900  # an engine that neither ends nor works: no answer, which is no other answer
_MEMORY_MIB: Final = 1_500
_MOST_MATCHES: Final = 5_000  # in a file: beyond them it is unread
_SUFFIXES: Final = {"python": "py", "javascript": "js", "typescript": "ts", "bash": "sh", "regex": "txt"}
_LITERAL: Final = re.compile(r"^([rbuf]{0,2})(\"\"\"|'''|[\"'`])(.*)\2$", re.DOTALL)
_GIVEN_UP: Final = ("Timeout", "Too many matches", "Out of memory", "Stack overflow", "Fixpoint")
_UNPARSED: Final = ("Syntax error", "Lexical error", "Other syntax error", "AST builder error")


class EngineError(OSError):
    """Semgrep is not installed, or did not end as it should: `make setup` installs it."""


class Match:
    """A match of a rule, with places of the file that it came from."""

    def __init__(self, target: Target, result: dict[str, Any]) -> None:
        self.target = target
        self.rule: str = result["check_id"]
        self.start: int = result["start"]["offset"]
        self.line: int = result["start"]["line"] + target.offset
        self.text = target.content[self.start : result["end"]["offset"]].decode("utf-8", "replace")
        self.message: str = result["extra"]["message"]
        self._variables: dict[str, Any] = result["extra"]["metavars"]

    @property
    def place(self) -> str:
        """Evidence of the match: the line on which it begins."""
        return self.target.source.place(self.line)

    def line_of(self, name: str) -> int:
        """Return the line of what the variable matched."""
        found_at = self._variables.get(name)
        return int(found_at["start"]["line"]) + self.target.offset if found_at else self.line

    def spelled(self, name: str, *, followed: bool = False) -> str:
        """Return the text of a literal that the variable matched, of a constant's too if `followed`; else empty."""
        texts = [self.text_of(name), self.propagated(name) if followed else ""]
        literal = next((match for text in texts if (match := _LITERAL.match(text))), None)
        if (
            literal is None
            or literal[2] in literal[3]
            or "${" in literal[3]
            or ("f" in literal[1] and "{" in literal[3])
        ):
            return ""
        return literal[3]

    def text_of(self, name: str) -> str:
        """Return the source that the variable matched."""
        variable = self._variables.get(name)
        if variable is None:
            return ""
        start, end = variable["start"]["offset"], variable["end"]["offset"]
        return self.target.content[start:end].decode("utf-8", "replace")

    def propagated(self, name: str) -> str:
        """Return the source of the constant that the variable holds, as the engine follows it."""
        return str(self._variables.get(name, {}).get("propagated_value", {}).get("svalue_abstract_content", ""))


@cache
def engine() -> str:
    """Return the path of `semgrep-core`.

    Raises:
        EngineError: there is none.
    """
    spec = importlib.util.find_spec("semgrep")
    folders = (spec.submodule_search_locations if spec else None) or ()
    places = [Path(folder, "bin", "semgrep-core") for folder in folders]
    path = next((str(place) for place in places if place.is_file()), None) or shutil.which("semgrep-core")
    if path is None:
        raise EngineError(
            "semgrep-core is not installed: pip install --require-hashes --no-deps -r requirements/scanners.txt"
        )
    return path


def run(targets: Sequence[Target], *rules: Rules) -> tuple[list[Match], list[Target]]:
    """Return the matches of the rules, and the targets that the engine gave up on.

    Where all targets together take too long, every target gets its own run, so that one hostile file hides nothing
    but itself. After some such files the rest is unread.

    Raises:
        EngineError: Semgrep could not be run, or cannot read a rule.
    """
    together = _run_once(targets, rules, CPU_S) if targets else ([], [])
    if together is not None:
        return together
    matches: list[Match] = []
    unread: list[Target] = []
    texts = [one for one in targets if one.language == "regex"]
    groups = [texts, *([one] for one in targets if one.language != "regex")]
    kills = 0
    for number, group in enumerate(groups):
        is_tried = kills < _MOST_KILLS and number <= _ALONE and (group is texts or len(groups) > _ONE_SOURCE)
        done = _run_once(group, rules, ALONE_CPU_S) if is_tried else None
        kills += done is None
        matches += done[0] if done is not None else ()
        unread += done[1] if done is not None else group
    return matches, unread


def _run_once(targets: Sequence[Target], rules: Sequence[Rules], cpu_s: int) -> tuple[list[Match], list[Target]] | None:
    """Return what `run` returns; None for an engine that took more processor time than it may."""
    with TemporaryDirectory(prefix="sssa-scan-") as folder:
        listed = []
        for number, target in enumerate(targets):
            suffix = "tsx" if target.source.suffix == "tsx" else _SUFFIXES[target.language]
            path = f"{folder}/{number}.{suffix}"  # no name of a bundle becomes a path
            Path(path).write_bytes(target.content)
            paths = {"fpath": path, "ppath": f"/{number}.{suffix}"}
            listed.append(["CodeTarget", {"path": paths, "analyzer": target.language, "products": ["sast"]}])
        Path(folder, "targets.json").write_text(json.dumps(["Targets", listed]), "utf-8")
        own = Path(folder, "rules.json")
        own.write_text(json.dumps({"rules": [one for one in rules if isinstance(one, dict)]}), "utf-8")
        shipped = files(__package__).joinpath("rules")
        paths_of_rules = [str(shipped.joinpath(one) if isinstance(one, str) else own) for one in rules]
        command = [engine(), *(word for path in paths_of_rules for word in ("-rules", path))]
        command += ["-targets", f"{folder}/targets.json", "-json_nodots", "-j", "1", "-fast"]
        command += ["-max_memory", str(_MEMORY_MIB), "-max_match_per_file", str(_MOST_MATCHES)]
        done = subprocess.run(  # noqa: S603 - the engine; no word of the bundle is in the command
            command,
            env={},
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=_HUNG_S,
            preexec_fn=partial(_bounded, cpu_s),
        )
    return None if done.returncode < 0 else _results(done, targets)


def _bounded(cpu_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _results(done: "subprocess.CompletedProcess[bytes]", targets: Sequence[Target]) -> tuple[list[Match], list[Target]]:
    try:
        document = json.loads(done.stdout.decode("utf-8", "replace"))
        results, errors = document["results"], document["errors"]
    except (ValueError, KeyError):
        raise EngineError(f"semgrep-core ended with {done.returncode} and without a result") from None
    kinds = [(str(one.get("error_type", "")), one) for one in errors]
    failed = next((one for kind, one in kinds if "rule" in kind.lower()), None)
    if failed is not None:
        raise EngineError(f"semgrep-core cannot read rule {failed.get('rule_id')}")
    given_up = {
        _number(one["location"]["path"]) for kind, one in kinds if kind.startswith(_GIVEN_UP) and "location" in one
    }
    unparsed = {_number(one["location"]["path"]) for kind, one in kinds if kind in _UNPARSED and "location" in one}
    given_up |= {number for number in unparsed if targets[number].content is targets[number].source.content}
    matches = [Match(targets[_number(one["path"])], one) for one in results]
    return matches, [targets[number] for number in sorted(given_up)]


def _number(path: str) -> int:
    return int(path.rpartition("/")[2].partition(".")[0])
