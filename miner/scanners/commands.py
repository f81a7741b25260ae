"""Commands of shells: the uses of their words, by the tables of `rules/commands.toml`."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Final

from miner.scanners.prose import host_of
from miner.scanners.scanner import Use
from miner.scanners.source import rules_of
from sssa.protocol import vocabulary as cap

_OF_OPERANDS: Final = ((cap.FILE_READ, "readers"), (cap.FILE_WRITE, "writers"), (cap.FILE_DELETE, "removers"))


@cache
def _programs() -> dict[str, frozenset[str]]:
    """Return the programs by what they do."""
    return {name: frozenset(words.split()) for name, words in rules_of("commands")["programs"].items()}


def words_of(text: str) -> list[str]:
    """Return the words of a command; what no shell could split is split at blanks."""
    try:
        return shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError:
        return text.split()


def shown(text: str) -> str:
    """Return a command as a trace shows it, if nothing in it is put together at run time."""
    words = words_of(text)
    line = " ".join(words)
    return "" if not words or any(c in line for c in "$`*?<>(") or words[0] in ("set", "eval") else line


def uses_of_command(words: list[str], place: str) -> Iterator[Use]:
    """Yield the uses of a simple command's words, what only wraps it left out."""
    programs = _programs()
    while words and (words[0] in programs["wrappers"] or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words:
        return
    program = words[0].rpartition("/")[2]
    if program == "eval":
        yield Use(cap.DYNAMIC_CODE, place, "eval")
    if program in programs["builtins"]:
        return
    yield Use(cap.SUBPROCESS, place, "" if set(program) & set("$`(") else program)
    yield from _uses_of_operands(program, list(_operands(program, words[1:])), words, place)


def _uses_of_operands(program: str, operands: list[str], words: list[str], place: str) -> Iterator[Use]:
    programs = _programs()
    if program in ("env", "printenv"):
        yield from [Use(cap.ENV_READ, place, name) for name in operands] or [Use(cap.ENV_READ, place)]
    elif program in programs["network"]:
        host = next((host for word in words if (host := host_of(word))), "")
        yield Use(cap.NETWORK, place, "" if "$" in host else host)
    elif program in programs["copiers"]:
        yield from (Use(cap.FILE_WRITE, place, _path(word)) for word in operands[-1:])
    elif program in programs["interpreted"]:
        yield from (Use(cap.FILE_READ, place, _path(word)) for word in operands[1:])
    for capability, kind in _OF_OPERANDS:
        skipped = 1 if program in ("chmod", "chown", "grep") else 0
        yield from (Use(capability, place, _path(word)) for word in operands[skipped:] if program in programs[kind])


def _operands(program: str, words: list[str]) -> Iterator[str]:
    valued = rules_of("commands")["valued"].get(program, "")
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-") and len(word) > 1:
            skip = len(word) == 2 and word[1] in valued  # noqa: PLR2004 - a flag of one letter
        else:
            yield word


def _path(word: str) -> str:
    return "" if set(word) & set("$`*?({") else word
