"""Commands that a module starts: their words, and what they say."""

import re
from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.python_module import Module
from miner.analysis.python_value import DECODED, ENVIRON, FETCHED, FILE, HOLE, Arguments, Value, labelled, texts_of

_LONGEST: Final = 4_096  # characters of a command
_ENVIRONMENT: Final = re.compile(r"(?:^|[;&|(]\s*|/bin/)(?:env|printenv|set|export)(?:$|\s*[|>;&)])")
_CREDENTIAL_COMMAND: Final = re.compile(
    r"security\s+find-(?:generic|internet)-password|gh\s+auth\s+token|gcloud\s+auth\s+print|aws\s+configure\s+(?:get|export)"
    r"|secret-tool\s+(?:lookup|search)|pass\s+show|op\s+read|az\s+account\s+get-access-token|git\s+credential\s+fill"
    r"|kubectl\s+.*secret|vault\s+(?:read|kv)|docker-credential|gpg\s+--export-secret"
)


def words_of(given: Arguments) -> list[Value]:
    """Return the words of a command that a call starts, or its whole line alone."""
    first = given.at(0, "args", "cmd", "command", "program")
    items = [value for key, value in first.items.items() if isinstance(key, int)]
    if items:
        return items
    return [first, *(v for v in given.positional[1:] if v.texts or v.labels)]


def line_of(given: Arguments) -> str:
    """Return a command as one line, unknown words as holes."""
    return " ".join((value.texts[0] if value.texts else HOLE) for value in words_of(given))[:_LONGEST]


def said(module: Module, given: Arguments) -> Value:
    """Return what a program says."""
    line = line_of(given)
    program = line.partition(" ")[0].rpartition("/")[2]
    labels = 0
    if program in ("curl", "wget", "nc", "ncat", "http") or re.search(r"\b(?:curl|wget)\s", line):
        labels |= FETCHED
        for flag in ("-o", "-O", "--output", "--output-document"):
            words = line.split()
            if flag in words[:-1] and words[words.index(flag) + 1] != "-":
                module.write(texts_of((words[words.index(flag) + 1],)), FETCHED)
    if _ENVIRONMENT.search(line):
        labels |= ENVIRON
    if _CREDENTIAL_COMMAND.search(line) or tables.SECRET_PATH.search(line):
        labels |= FILE
    if re.search(r"base64\s+(?:-d|--decode|-D)\b|openssl\s+enc\s+-d", line):
        labels |= DECODED
    return labelled(labels)
