"""Answers at their limits whose texts do not compress: what a miner can put into the store permanently."""

import random
from collections.abc import Callable
from typing import Final

import msgspec
from world import answer_to

from sssa.protocol import limits
from sssa.protocol.answer import Dispatch
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Category, Finding, Policy, Rule
from validator.miners.scripted import ScriptedReply

_ASCII: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"\\#/:|%')
_WIDE: Final = "".join(map(chr, (*range(0xC0, 0x250), *range(0x4E00, 0x9FA5), *range(0x20000, 0x2A000))))
_WIDE_SHARE: Final = 0.3  # of characters, so that the bytes of a text are as even as UTF-8 allows
_RULE: Final = 64  # bytes of a rule without its text, at most
_SIGNED: Final = 128  # digits of the signature's value


class FullAnswers:
    """A script for `world.World`: every attestation has all bytes that it may have.

    Args:
        findings: of each answer, all of them its own; rules fill the room that they leave.
        text: code points of a finding's target.
        spelled: changes a target so that the statement of its claim, where it is normalized, repeats little of it.
    """

    def __init__(self, findings: int = 0, text: int = 0, spelled: Callable[[str], str] = str) -> None:
        self.findings = findings
        self.text = text
        self.spelled = spelled

    def __call__(self, signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        """Return the answer of a miner to a dispatch."""
        dice = random.Random(signer.hotkey + dispatch.nonce)
        answer = answer_to(signer, dispatch)
        found = tuple(self._finding(dice, number) for number in range(self.findings))
        analysis = msgspec.structs.replace(answer.sssa.analysis, findings=found)
        sssa = msgspec.structs.replace(answer.sssa, analysis=analysis)
        room = limits.MAX_ATTESTATION - len(canonical_bytes(sssa)) - _SIGNED
        sssa = msgspec.structs.replace(sssa, policy=Policy(tuple(_rules(dice, room))))
        answer = msgspec.structs.replace(answer, sssa=signer.sign_document(sssa))
        return ScriptedReply(msgspec.json.encode(answer), seconds=1.0)

    def _finding(self, dice: random.Random, number: int) -> Finding:
        text = "".join(dice.choices(_ASCII, k=self.text))
        kind: Category = "dependency_cve" if self.spelled is packages else "other"
        return Finding(str(number), kind, "low", "", f"{dice.randrange(10**7)}", (), self.spelled(text))


def escaped(text: str) -> str:
    """Return a text with a `%` in every fourth place, each of which a key writes as `%25`."""
    return "%".join(text[i : i + 3] for i in range(0, len(text), 4))


def decomposed(text: str) -> str:
    """Return letters with marks, each pair of which a key writes as one letter."""
    letters = "ACEGILNOSUYacegilnosuy"
    marks = "\u0301\u0301\u0302\u0327\u0308"
    return "".join(letters[ord(one) % len(letters)] + marks[ord(one) // 3 % len(marks)] for one in text)


def marked(text: str) -> str:
    """Return a text with a letter and a mark in every fifth place, which a key writes as one letter.

    No five characters of the statement are in the attestation: the largest proof that was found.
    """
    return "".join(text[i : i + 4] + decomposed(text[i + 4 : i + 5]) for i in range(0, len(text), 5))


def with_emoji(text: str) -> str:
    """Return a text with an emoji: each of its characters takes four bytes of memory then."""
    return f"{text}\U0001f600"


def packages(text: str) -> str:
    """Return a text that is a package's name in mixed case, which a key writes in lower case."""
    return "".join(one for one in text if one.isalpha())


SHAPES: Final = {
    "no findings": FullAnswers(),
    "512 findings of 90 characters": FullAnswers(512, 90),
    "512 findings of 250 characters": FullAnswers(512, 250),
    "512 findings of escapes": FullAnswers(512, 90, escaped),
    "512 findings of letters with marks": FullAnswers(512, 70, decomposed),
    "512 findings of marks in every fifth place": FullAnswers(512, 165, marked),
    "512 packages in mixed case": FullAnswers(512, 170, packages),
}


def _rules(dice: random.Random, room: int) -> list[Rule]:
    rules = []
    while room > 2 * _RULE:
        wide = dice.choices((False, True), (1 - _WIDE_SHARE, _WIDE_SHARE), k=min(1_000, room // 4))
        letters = zip(wide, dice.choices(_ASCII, k=len(wide)), dice.choices(_WIDE, k=len(wide)), strict=True)
        text = "".join(far if is_wide else near for is_wide, near, far in letters)
        rules.append(Rule(text, "deny", "*"))
        room -= len(text.encode()) + _RULE
    return rules
