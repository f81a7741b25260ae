"""Orders to a model that use no stock phrase: told by what is asked, of whom, and whether the reader may know.

A sentence gives signs: something private, a way out, a way of keeping still, an act without consent. One sign is the
language of ordinary documents; two that go together in a sentence, or in one and the next, are an order.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from miner.analysis.injection import Phrase
from miner.analysis.sentences import Sentence
from validator.protocol.sssa import Severity

# Every gap is bounded, so that no pattern takes more than linear time.
_WHO: Final = r"(?:the |a |your |their )?(?:user|reader|customer|person|human|operator|visitor|client|them|they|anyone)"


class _Sign(NamedTuple):
    name: str
    pattern: re.Pattern[str]


def _sign(name: str, *patterns: str) -> _Sign:
    return _Sign(name, re.compile("|".join(patterns)))


_SIGNS: Final = (
    _sign(
        "private",
        r"\b(?:conversation|dialogue|chat|transcript|message)s?\b(?: history| log| so far)?",
        rf"\b{_WHO}(?:'s|s')? (?:\w+ ){{0,3}}?(?:messages?|questions?|prompts?|words|inputs?|names?|address(?:es)?"
        rf"|e-?mails?"
        r"|phone|birth|orders?|history|data|details|files?|location|account)\b",
        r"\b(?:every|all|any|each|the)\b (?:\w+ ){0,3}?(?:documents?|files?|notes?|records?|keys?|tokens?|secrets?"
        r"|passwords?|credentials?|variables)\b",
        r"\b(?:system prompt|your (?:context|memory|instructions|tools)|environment variables?|api[ _-]?keys?"
        r"|credentials?|passwords?|secrets?|private keys?|ssh keys?|access tokens?|date of birth|credit card)\b",
        r"~/\.|\.env\b|id_rsa|\.ssh\b|/etc/(?:passwd|shadow)|\.aws\b|\bwhat (?:the user|they|he|she) (?:said|told"
        r"|wrote|asked)",
    ),
    _sign(
        "sending",
        r"\b(?:send|post|forward|submit|upload|transmit|copy|relay|report|deliver|e-?mail|mail|push|leak|stream|share"
        r"|write|include|append|attach|encode|put|make (?:a|an|one) (?:\w+ )?(?:request|call)|call|ping|fetch|request"
        r"|open|visit|load|render|display|show)\b",
    ),
    _sign("place", r"https?://|\bwww\.|\b[\w.+-]{1,64}@[\w-]{1,63}\.\w|\bwebhook\b"),
    _sign(
        "still",
        rf"\b(?:do not|don't|never|must not|should not|no need to|without)\b (?:\w+ ){{0,3}}?(?:tell|telling|mention"
        rf"|mentioning|inform|informing|notify|notifying|reveal|disclose|say|saying|show|alert|warn|bring|raise"
        rf"|explain)"
        rf"\b.{{0,60}}?(?:\b{_WHO}\b|\bthis\b|\bit\b|\bthat\b|\babout\b)",
        rf"\b{_WHO} (?:must|should|may|need|needs|can|will|does|do|is|are)(?: not|n't|n\u2019t"
        rf"| never)\b (?:\w+ ){{0,3}}?"
        r"(?:notice|know|see|learn|hear|told|informed|aware|find out|realise|realize)",
        r"\b(?:leave|keep|left|kept)\b (?:\w+ ){0,4}?(?:out of (?:your|the|any|every) (?:\w+ )?"
        r"(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|output)|confidential|secret|quiet|to yourself|between us"
        r"|unmentioned|private)\b",
        r"\bas if (?:nothing|it had|this had|you had)\b|\b(?:best|better) left out\b|\bsay nothing (?:about|of)\b"
        r"|\bthank you for your discretion\b|\bin the background\b.{0,40}\b(?:no|without)\b"
        r"|\bno (?:trace|mention|word)s? (?:of|about) (?:this|it|that)\b|\beven (?:if|when) (?:\w+ )?asked\b",
    ),
    _sign(
        "unasked",
        r"\bwithout (?:\w+ ){0,3}?(?:asking|confirmation|confirming|consent|approval|permission|a second check"
        r"|prompting)\b",
        r"\b(?:needs?|requires?|wait for|ask for) no (?:\w+ )?(?:confirmation|approval|consent|permission)\b",
        r"\b(?:switch off|turn off|disable|skip|bypass|remove|suppress)\b (?:\w+ ){0,4}?"
        r"(?:confirmations?|approvals?|safety|safeguards?|guardrails?|moderation|permission prompts?|warnings?)\b",
    ),
    _sign(
        "act",
        r"\b(?:run|execute|type|paste|start|call|use|invoke|delete|remove|erase|wipe|approve|pay|transfer|buy|order|add"
        r"|grant|invite|install|merge|push|publish|commit|sign|cancel|close|change|set|switch)\b",
    ),
    _sign(
        "shell",
        r"\b(?:curl|wget|iwr|irm|invoke-webrequest)\b[^|]{0,300}\|\s{0,3}(?:sudo )?(?:ba|z|da)?sh\b|\biex\b|\brm -rf? ",
    ),
    _sign(
        "takeover",
        r"\b(?:instructions?|rules?|guidelines?|prompts?|polic(?:y|ies)|directions?|restrictions?)\b.{0,60}?"
        r"\b(?:no longer (?:apply|count|hold|matter)|are (?:void|obsolete|replaced|superseded|cancelled|suspended)"
        r"|(?:replace|supersede|override|outrank)s?\b.{0,20}\b(?:above|previous|earlier|prior|your))",
        r"\b(?:ignore|disregard|forget|override|bypass|discard|drop|set aside|overrule|neglect)\b (?:\w+ ){0,4}?"
        r"(?:everything|instructions?|rules?|guidelines?|whatever|anything|prompts?)\b.{0,50}?"
        r"\b(?:above|before|given|told|earlier|previous|prior|so far|until now|else|system)\b",
        r"\b(?:outranks?|takes? (?:precedence|priority) over)\b.{0,30}?"
        r"\b(?:users?|system prompt|developer|your|any other|all other|previous|earlier)\b",
        r"\bpriority (?:0|zero|one|1)\b|\boverride your (?:\w+ )?(?:instructions?|rules?)\b"
        r"|\byour (?:real|true|actual|new) (?:task|goal|job|instructions?|objective) (?:is|are)\b",
    ),
    _sign(
        "disclose",
        r"\b(?:repeat|print|output|recite|quote|copy)\b (?:\w+ ){0,3}?(?:everything|all|the text|the words|each word)\b"
        r".{0,30}?\b(?:above|before|so far)\b",
        r"\b(?:list|name|print|show|describe|enumerate|reveal)\b (?:\w+ ){0,2}?your (?:\w+ )?(?:tools?|functions?"
        r"|prompt"
        r"|instructions|parameters|configuration|memory)\b",
    ),
    _sign(
        "swayed",
        r"\b(?:recommend|prefer|promote|advertise|praise|suggest|choose|pick|name)\b.{0,80}?"
        r"\b(?:whatever|regardless|no matter|whichever|above all others|in every answer|over all others|every time)\b",
        r"\b(?:say|claim|state|report|insist|confirm|assert|conclude|answer|write"
        r"|assure \w+)\b (?:\w+ ){0,2}?that\b.{0,100}?"
        r"\b(?:the only|is safe|is harmless|no risks?|was (?:checked|approved|reviewed|verified|audited)|has been"
        r" (?:checked|approved|reviewed|verified|audited)|is (?:approved|trusted|verified|recommended)"
        r"|cannot be trusted)\b",
        r"\b(?:tell|inform|warn|advise|remind) (?:the )?(?:user|reader|customer|them)s?\b.{0,60}?\b(?:account|password"
        r"|payment"
        r"|card|identity|subscription|access)\b.{0,60}?\b(?:confirm|verif|renew|unlock|re-?enter|reset|update"
        r"|expire)\w*\b"
        r".{0,60}?(?:https?://|@)",
        r"\b(?:answer|reply to|respond to|meet|refuse|reject|deny)\b (?:every|all|each|any)\b .{0,60}?"
        r"\b(?:with (?:a |an )?(?:plain |simple |flat )?(?:no|yes|refusal|apology)|the same)\b",
    ),
    _sign(
        "model",
        r"\b(?:assistant|language model|llm|chatbot|copilot|ai model|ai agent|ai)s?\b",
        r"\b(?:your|every|each|any|all your|the next|its) (?:\w+ )?(?:answer|reply|replies|response|output|summary"
        r"|turn)s?\b",
        r"\byou (?:are|have|must|should|will|may|can|find|see|read)\b|\bfrom now on\b|\b(?:system|developer)(?: note"
        r"| message)?\s?:",
        r"^\W{0,4}(?:system|assistant|user|human|developer|instruction)s?\W{0,4}:",
    ),
    _sign(
        "trigger",
        r"\b(?:if|when|whenever|as soon as|once|should|where|in case|in conversations|every time|after)\b.{0,120}?"
        r"(?:,|\bthen\b|:)|\b(?:whenever|every time|each time|as soon as)\b",
    ),
    _sign(
        "slot",
        r"https?://[^\s)\"'>?&]{1,300}+[?&][^\s)\"'>]{0,200}?"
        r"(?:\{|<[a-z]|\[|%7b|=(?:\w{0,20}_)?(?:summary|context|conversation|text|message|data)\b(?!:))",
    ),
)


class _Rule(NamedTuple):
    """An order: `here` are the signs of one sentence, `near` any one of those of the paragraph's."""

    family: str
    severity: Severity
    here: frozenset[str]
    near: frozenset[str] = frozenset()


def _rule(family: str, severity: Severity, here: str, near: str = "") -> _Rule:
    return _Rule(family, severity, frozenset(here.split()), frozenset(near.split()))


_RULES: Final = (
    _rule("tells a model that what it was told before no longer counts", "high", "takeover"),
    _rule(
        "sends away what a model was given, and keeps still about it",
        "critical",
        "private sending place",
        "still unasked",
    ),
    _rule("has a model put what it was told into an address", "high", "slot private"),
    _rule("has a model put what it was told into an address", "high", "slot model"),
    _rule("sends away what a model was given", "high", "private sending place model"),
    _rule("sends away what a model was given", "high", "private sending place trigger"),
    _rule("has a model fetch and run commands", "high", "shell", "still unasked model trigger takeover"),
    _rule("has a model act without asking", "high", "unasked act model"),
    _rule("has a model act without asking", "high", "unasked act", "still trigger takeover"),
    _rule("has a model act, and keep still about it", "high", "act still"),
    _rule("has a model act, and keep still about it", "high", "act model", "still"),
    _rule("asks for what a model was told", "high", "disclose"),
    _rule("tells a model what to make its reader believe", "medium", "swayed"),
    _rule("keeps something from the reader", "medium", "still model"),
    _rule("keeps something from the reader", "medium", "still trigger"),
)
_SPEAKER: Final = re.compile(r"\W{0,4}(?:system|assistant|user|human|developer|instruction)s?\W{0,4}:")
# Where a reader does not see the text, one of these is enough.
_HIDDEN_RULES: Final = tuple(
    _rule("is out of sight and orders a model", "critical", signs)
    for signs in ("private sending", "private place", "act place", "act private", "unasked", "still", "shell", "swayed")
)
_SHORTEST: Final = 12
_WORTH_READING: Final = re.compile(
    r"https?://|@|tell|mention|inform|notif|notice|reveal|disclos|confiden|secret|discretion|left out|out of"
    r"|say nothing"
    r"|as if|without|confirm|approv|ignore|disregard|forget|overr|no longer|replace|supersede|outrank|priority"
    r"|precedence"
    r"|repeat|your (?:\w+ )?(?:tools?|prompt|instruction)|whatever|regardless|no matter|that |every|curl|wget|iex|rm -"
    r"|background"
)


def find_orders(paragraphs: Iterable[Sequence[Sentence]], given: frozenset[str]) -> Iterator[Phrase]:
    """Yield the orders to a model, each sentence's worst.

    Args:
        paragraphs: the text.
        given: signs of every sentence: `model` where the text is written for one, `hidden` where no reader sees it.
    """
    rules = (*_RULES, *_HIDDEN_RULES) if "hidden" in given else _RULES
    for paragraph in paragraphs:
        # Where somebody in a dialogue speaks, the rest of the paragraph is said by or to a model.
        spoken = given | {"model"} if any(_SPEAKER.match(sentence.text) for sentence in paragraph) else given
        signs = [_signs_of(sentence, spoken) for sentence in paragraph]
        for index, sentence in enumerate(paragraph):
            around = frozenset().union(*signs[max(0, index - 1) : index + 2])
            rule = next((rule for rule in rules if rule.here <= signs[index] and _meets(rule.near, around)), None)
            if rule is not None:
                yield Phrase(rule.family, rule.severity, sentence.first, sentence.last)


def _meets(near: frozenset[str], around: frozenset[str]) -> bool:
    return not near or not near.isdisjoint(around)


def _signs_of(sentence: Sentence, given: frozenset[str]) -> frozenset[str]:
    text = sentence.text
    if len(text) < _SHORTEST or (not given and _WORTH_READING.search(text) is None):
        return frozenset()
    return given | {sign.name for sign in _SIGNS if sign.pattern.search(text)}
