"""The Dockerfile as its stages, without an engine."""

import re
import shlex
from dataclasses import dataclass, field

from package_files import ROOT


@dataclass
class Stage:
    """One stage: what it starts from, and its instructions in order."""

    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def runs(self) -> str:
        return "\n".join(rest for word, rest in self.steps if word == "RUN")

    def copies(self) -> list[tuple[str, list[str]]]:
        """(stage, paths) of every COPY; the stage is "" for the build's own files; the last path is the target."""
        found = []
        for word, rest in self.steps:
            if word == "COPY":
                origin = re.match(r"--from=(\S+) ", rest)
                found.append((origin[1] if origin else "", shlex.split(rest[origin.end() :] if origin else rest)))
        return found


def stages() -> dict[str, Stage]:
    """Return the stages in order by name."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    found: dict[str, Stage] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "ARG" and not found:
            continue  # of the FROM lines
        if word == "FROM":
            match = re.fullmatch(r"(\S+) AS (\S+)", rest)
            assert match, line
            found[match[2]] = Stage(match[2], match[1])
        else:
            list(found.values())[-1].steps.append((word, " ".join(rest.split())))
    return found


def lineage(name: str) -> list[Stage]:
    """The stage and those that it starts from, the first one first."""
    every = stages()
    line = [every[name]]
    while line[0].base in every:
        line.insert(0, every[line[0].base])
    return line


def needed(name: str) -> set[str]:
    """Every stage that building this one takes anything from."""
    every, found, waiting = stages(), set[str](), [name]
    while waiting:
        stage = every[waiting.pop()]
        found.add(stage.name)
        origins = {stage.base, *(origin for origin, _ in stage.copies())}
        waiting += [origin for origin in origins if origin in every and origin not in found]
    return found
