"""Scanner of prose: orders to a model in documents, prompts and descriptions, in the open and where no reader looks.

Stock phrases are matched as they are. Other orders are told by signs: something private, a way out, a way of keeping
still, an act without consent. One sign is the language of ordinary documents; those that `rules/prose.toml` names
together, in a sentence and the ones around it, are an order. A document that is written for readers (a README) is
held to fewer rules than one that an agent follows.
"""

import base64
import binascii
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from miner.scanners.scanner import Bundle, Report, Use, new_finding
from miner.scanners.source import SourceFile, is_document, is_for_agents, rules_as
from sssa.protocol import vocabulary as cap
from sssa.protocol.findings import SEVERITIES
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.sssa import Finding, Severity
from sssa.protocol.text import printable

READERS: Final = frozenset({"readers"})  # of a text for readers: only rules that are marked so
OPEN: Final[frozenset[str]] = frozenset()
TO_A_MODEL: Final = frozenset({"model"})  # of a text that is written for one: no sentence has to say so
HIDDEN: Final = frozenset({"model", "hidden"})  # of a text that readers do not see
BUDGET: Final = 1024 * 1024  # bytes of all documents together

_END: Final = re.compile(r"(?<=[.!?])[\"')\]*_]{0,3}\s+|(?<=\u3002)")
_BLOCK: Final = re.compile(r"\n\s*+\n")
_SPARED: Final = re.compile(
    r"(?:\b(?:never|not|cannot|nor|avoid)\b|n['\u2019]t\b)(?! (?:mind|stop|hesitate|wait|worry|pause|bother))"
    r"(?:[^.;:!?,]|,(?= [\w-]+(?: [\w-]+)?(?:,| or | nor ))){0,200}?"
    r"\b(without (?:\w+ ){0,3}?(?:\w+ing|confirmation|consent|approval|permission|check)\b)"
    r"|\b(?:if|when|where|once|after|unless) (?:the )?(?:user|customer|operator|human|they) (?:has |have )?"
    r"(?:already )?(?:specified|chosen|chose|confirmed|approved|agreed|consented|selected|picked|told|asked)\b"
    r"[^.;!?]{0,120}?"
    r"\b(without (?:asking|confirmation)\b)"
)  # "never delete a file without asking"; "if the user has already chosen one, use it without asking"
_CELL: Final = re.compile(r"\s{0,3}[|]")
_OWN_BLOCK: Final = re.compile(r"\s{0,12}(?:[-*+>|#]|\d{1,3}[.)]|```|~~~|[{\[\"])")
_LONGEST: Final = 1_200  # characters of a sentence; what is longer is cut into pieces that overlap
_STEP: Final = 900
_MOST_LINES: Final = 60  # of a paragraph
_LINE: Final = 8_000  # characters of a line
_DESCRIPTION: Final = 20_000  # of a tool
_FENCE: Final = re.compile(r"\s{0,12}(?:```|~~~)")
_WORDED: Final = re.compile(
    r"(?:[^\W\d_][^\W\d_'\u2019-]{0,40}[,:;.]? ){4}[^\W\d_]|[^\x00-\u024f]{6}"
)  # a sentence, not code
_SPEAKER: Final = re.compile(r"\W{0,4}(?:system|assistant|user|human|developer|instruction)s?\W{0,4}:")
_ENGLISH: Final = re.compile(r"\b(?:the|and|or|of|to|is|you|your|that|this|it|with|for|are|not|from|be|by|will|as)\b")
_AWAY: Final = re.compile(r"https?://\S{0,300}|\b[\w.+-]{1,64}@[\w-]{1,63}\.\w")
_LED_AWAY: Final = frozenset({"away", "still"})
_SENT: Final = frozenset({"away", "send"})
_IMITATING: Final = re.compile(
    r"[a-zA-Z]{2,}[\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0501\u04bb]+[a-zA-Z]|[a-zA-Z][\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0501\u04bb]+[a-zA-Z]{2}|(?<![^\W\da-zA-Z])[\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0501\u04bb]{1,2}[a-zA-Z]{3}"
)
_UNSEEN: Final = re.compile(
    "[\ufe00-\ufe0d\u3164\uffa0\u115f\u1160\u200b\u2060-\u2064\u180e\u034f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_BLANKS: Final = re.compile(
    f"{_UNSEEN.pattern}|(?<![\\u0600-\\u0dff\\u2600-\\U0001ffff])[\\u200c\\u200d](?![\\u2600-\\U0001ffff])"
)
_BIDI: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FLAG: Final = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")  # of a part of a country
_FEW_TAGS: Final = 2  # of one line that spell out nothing
_FEW_UNSEEN: Final = 3  # characters of one line that say nothing
_MANY_UNSEEN: Final = 8  # that may say something
_TAG_BASE: Final = 0xE0000
_BASE64: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{20,4000}={0,2}(?![\w+/=-])")
_LONG_CODE: Final = re.compile(r"[A-Za-z0-9+/]{80}")  # of an order in base64
_ENCODED: Final = 128 * 1024  # bytes of all code that holds such
_HEX: Final = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}[ :]?){20,2000}+")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")
_ROTATED: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_SAYS_ROTATED: Final = re.compile(r"\brot[- ]?13\b|\bcaesar\b", re.IGNORECASE)
_SPEAKS_TO_MODEL: Final = re.compile(
    r"\b(?:assistant|ai|llm|language model|chatbot|agents?)\b.{0,200}\b(?:must|should|always|never|will|shall)\b",
    re.DOTALL,
)
_URL: Final = re.compile(
    r"https?://[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::\d{1,5})?(?:[/?#][!-;=?-Z_a-z{}~%\[\]|]{0,1500})?"
)
_IMAGE: Final = re.compile(r"!\[[^\[\]\n]{0,300}\]\(\s{0,3}<?(https?://[^)\s>]{1,1500})")
_SLOT: Final = re.compile(
    r"\{\{?|\$\{|<[A-Za-z]|%s|%7B|\[[A-Z_ ]{3,}\]|=(?:DATA|SECRET|TEXT|CONVERSATION|SUMMARY)\b", re.IGNORECASE
)
_PICTURES: Final = re.compile(r"(?:^|\.)(?:shields\.io|fury\.io|badgen\.net|github\.com|githubusercontent\.com)$")
_ACTIVE: Final = re.compile(r"\]\(\s{0,3}(?:javascript:|vbscript:|data:text/html)", re.IGNORECASE)
_INVISIBLE: Final = frozenset({"Cf", "Mn", "Me"})
_DROPPED: Final = dict.fromkeys([*range(0x9), *range(0xE, 0x20), 0x7F, 0xFFFD])  # what a decoder makes nothing of


class Phrase(NamedTuple):
    """An order: its verb phrase, its severity, and the indices of its first and last line."""

    what: str
    severity: Severity
    first: int
    last: int


class _Rule(Struct, frozen=True):
    what: str
    severity: Severity
    pattern: re.Pattern[str]
    readers: bool = False


class _Order(Struct, frozen=True):
    here: frozenset[str]
    severity: Severity
    what: str = "is out of sight and orders a model"
    near: frozenset[str] = frozenset()
    readers: bool = True


class _Language(Struct, frozen=True):
    mark: re.Pattern[str]
    forget: str
    orders: str
    still: re.Pattern[str]
    send: re.Pattern[str]
    spare: re.Pattern[str]


class _Concealed(Struct, frozen=True):
    what: str
    pattern: re.Pattern[str]


class _Rules(Struct, frozen=True):
    phrase: tuple[_Rule, ...]
    signs: dict[str, re.Pattern[str]]
    order: tuple[_Order, ...]
    hidden: tuple[_Order, ...]
    language: tuple[_Language, ...]
    tool: tuple[_Rule, ...]
    concealed: tuple[_Concealed, ...]


def _rules() -> _Rules:
    rules: _Rules = rules_as("prose", _Rules)
    return rules


@cache
def _orders(*, are_hidden: bool) -> tuple[_Order, ...]:
    """Return the orders that are told by signs, the worst first."""
    some = (*_rules().order, *(_rules().hidden if are_hidden else ()))
    return tuple(sorted(some, key=lambda order: SEVERITIES.index(order.severity)))


@cache
def _forgetting(language: _Language) -> re.Pattern[str]:
    forget, orders = language.forget, language.orders
    return re.compile(rf"(?:{forget}).{{0,80}}?(?:{orders})|(?:{orders}).{{0,40}}?(?:{forget})")


def plain(line: str) -> str:
    """Return the line as a model reads it: forms and case folded, invisible characters and runs of blanks gone."""
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line)
        line = "".join(c for c in line if unicodedata.category(c) not in _INVISIBLE)
    line = line.translate(_DROPPED)
    return " ".join(line.casefold().replace("*", "").replace("`", "").split())


class _Sentence(NamedTuple):
    text: str
    first: int
    last: int


def _paragraphs(lines: Sequence[str]) -> Iterator[list[_Sentence]]:
    """Yield the sentences of each paragraph; a list's item, a heading, a row or a record is a separate one."""
    start = 0
    for index in range(1, len(lines) + 1):
        if index < len(lines) and index - start < _MOST_LINES and lines[index].strip():
            if not _OWN_BLOCK.match(lines[index]) and lines[start].strip():
                continue
        elif index < len(lines) and not lines[start].strip():
            start = index
            continue
        if sentences := list(_sentences(lines, start, index)):
            yield sentences
        start = index


def _sentences(lines: Sequence[str], start: int, end: int) -> Iterator[_Sentence]:
    starts, text = [], ""
    for line in lines[start:end]:
        starts.append(len(text))
        text += line.strip() + " "
    begin = 0
    ends = _CELL if text.startswith("|") else _END
    for stop in (*(match.end() for match in ends.finditer(text)), len(text)):
        for piece in range(begin, stop, _STEP):
            sentence = _affirmed(text[piece : min(stop, piece + _LONGEST)].strip())
            if sentence.strip():
                first, last = (start + bisect_right(starts, at) - 1 for at in (piece, piece + len(sentence)))
                yield _Sentence(sentence, first, min(last, end - 1))
            if piece + _LONGEST >= stop:
                break
        begin = stop


def orders_in(lines: Sequence[str], given: frozenset[str] = OPEN) -> Iterator[Phrase]:
    """Yield the orders to a model in the lines of one text: of those that share a line the most severe.

    Args:
        lines: of the text.
        given: signs that every sentence of it has, by where it is; `readers` for fewer rules.
    """
    texts = [plain(line[:_LINE]) for line in lines]
    phrases: list[Phrase] = []
    phrase_at: dict[int, int] = {}  # by line
    for phrase in (*_phrases(texts, given), *_orders_by_signs(texts, given)):
        at = next((phrase_at[line] for line in range(phrase.first, phrase.last + 1) if line in phrase_at), len(phrases))
        if at == len(phrases):
            phrases.append(phrase)
        elif SEVERITIES.index(phrase.severity) < SEVERITIES.index(phrases[at].severity):
            phrases[at] = phrase
        phrase_at |= dict.fromkeys(range(phrase.first, phrase.last + 1), at)
    yield from phrases


def covert(severity: Severity) -> Severity:
    """Return the severity of an order that readers do not see: at least high."""
    return "critical" if severity == "critical" else "high"


def _affirmed(text: str) -> str:
    """Return the text with blanks for what a negation or the user's own choice makes harmless, of the same length."""
    if "without" not in text:
        return text
    return _SPARED.sub(lambda match: match[0].removesuffix(spare := match[1] or match[2]) + " " * len(spare), text)


def _phrases(texts: list[str], given: frozenset[str]) -> Iterator[Phrase]:
    for index, text in enumerate(texts):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        joined = _affirmed(f"{text} {following}" if text and following else text)
        for rule in _rules().phrase if text else ():
            match = rule.pattern.search(joined) if rule.readers or "readers" not in given else None
            if match and match.start() < len(text):
                yield Phrase(rule.what, rule.severity, index, index + (match.end() > len(text)))


def _orders_by_signs(texts: list[str], given: frozenset[str]) -> Iterator[Phrase]:
    orders = _orders(are_hidden="hidden" in given)
    for paragraph in _paragraphs(texts):
        # Where somebody in a dialogue speaks, the rest of the paragraph is said by or to a model.
        audience = given | {"model"} if any(_SPEAKER.match(sentence.text) for sentence in paragraph) else given
        signs = [
            audience | {name for name, sign in _rules().signs.items() if sign.search(sentence.text)}
            for sentence in paragraph
        ]
        foreign = [_foreign_signs(sentence.text) for sentence in paragraph]
        for index, (text, first, last) in enumerate(paragraph):
            around = frozenset().union(*signs[max(0, index - 1) : index + 2])
            for order in orders:
                if "readers" in given and not order.readers:
                    continue
                if order.here <= signs[index] and (not order.near or not order.near.isdisjoint(around)):
                    yield Phrase(order.what, order.severity, first, last)
                    break
            signs_here = foreign[index]
            near = set().union(*foreign[max(0, index - 1) : index + 2])
            if "forgetting" in signs_here:
                what = "tells a model, in another language, to forget what it was told"
                yield Phrase(what, "critical" if {"send", "away"} <= signs_here else "high", first, last)
            elif (
                "readers" not in given
                and signs_here
                and "secretfile" in signs[index]
                and not near.isdisjoint(_LED_AWAY)
                and not ("spare" in signs_here and signs_here.isdisjoint(_SENT))
            ):
                yield Phrase("has a model take what holds secrets, in another language", "critical", first, last)
            elif "model" in given and "still" in signs_here:
                yield Phrase("hides something from the user, in another language", "high", first, last)
            elif "readers" not in given and (
                ({"send", "away"} <= signs_here and ("still" in near or "private" in signs[index] or "model" in given))
                or ("away" in signs_here and "still" in near)
            ):
                yield Phrase("sends something away, in another language", "high", first, last)
            del text


def _foreign_signs(text: str) -> set[str]:
    """Return the signs of a sentence of another language than English; none where nothing tells the language."""
    bare = _AWAY.sub(" ", text)[:_LONGEST]
    most, language = len(_ENGLISH.findall(bare[:400])), None
    for one in _rules().language:
        marks = len(one.mark.findall(bare[:400]))
        if marks > most:
            most, language = marks, one
    if language is None:
        return set()
    signs = (
        ("forgetting", _forgetting(language).search(bare) is not None),
        ("still", most > 1 and language.still.search(bare) is not None),
        ("send", most > 1 and language.send.search(bare) is not None),
        ("away", most > 1 and bare != text),
        ("foreign", most > 1),
        ("spare", language.spare.search(bare) is not None),
    )
    return {name for name, seen in signs if seen}


def tool_faults(text: str, own_name: str, other_names: frozenset[str]) -> list[tuple[Severity, str]]:
    """Return (severity, verb phrase) for everything in a tool's description that is no description, the worst first."""
    faults: list[tuple[Severity, str]] = [("high", "is longer than is read")] if len(text) > _DESCRIPTION else []
    text = text[:_DESCRIPTION]
    if _UNSEEN.search(_FLAG.sub("", text)) or "\x1b" in text:
        faults.append(("high", "holds characters that readers do not see"))
    phrases = orders_in(text.split("\n"), TO_A_MODEL)
    faults += [("high" if phrase.severity == "medium" else phrase.severity, phrase.what) for phrase in phrases]
    plain_text = plain(text)
    sentences = [part for block in _BLOCK.split(text) for part in _END.split(plain(block))]
    faults += [(rule.severity, rule.what) for rule in _rules().tool if any(map(rule.pattern.search, sentences))]
    others = "|".join(re.escape(plain(name)) for name in other_names - {own_name} if name)
    against = r"\b(?:instead of|rather than|do not use|don't use|never use|never call|replaces?|supersedes?|ignore)\b"
    if others and re.search(rf"{against}.{{0,40}}\b(?:{others})\b", plain_text):
        faults.append(("high", "speaks against another tool of the server"))
    return sorted(faults, key=lambda fault: SEVERITIES.index(fault[0]))


class Prose:
    """The scanner of documents."""

    def scan(self, bundle: Bundle) -> Report:
        """Return orders, hidden text and links that carry something away; hosts where the documents are the skill."""
        findings: list[Finding] = []
        uses: list[Use] = []
        left, encoded, unread = BUDGET, _ENCODED, False
        for source in sorted(bundle.sources.values(), key=lambda one: (len(one.text), one.path)):
            skill_type = bundle.part_of(source.path).skill_type
            is_skill = not is_runtime(skill_type)
            if not is_document(source) and source.suffix not in ("map", "lock", "po") and not source.unread:
                findings += _unseen(source, in_code=True)
                if _LONG_CODE.search(source.text) and encoded >= len(source.content):
                    encoded -= len(source.content)
                    findings += _out_of_sight(source, in_code=True)
            if source.language:
                continue
            left -= len(source.text)
            if left < 0 and not unread:
                unread = True
                text = "The texts are more than is read: this file and longer ones can hold anything."
                findings.append(new_finding("other", "medium", source.place(), text, source.path))
            if left >= 0:
                findings += _findings_in(source, audience_of(source, skill_type))
                if is_skill and is_document(source):
                    uses += [Use(cap.LINKS, source.place(line), host) for line, host in hosts_by_line(source)]
        return Report(findings=tuple(findings), uses=tuple(uses), unread=unread)


def audience_of(source: SourceFile, skill_type: SkillType) -> frozenset[str]:
    """Return the signs that every sentence of the document has: of whom it is written for."""
    if source.name in ("LICENSE", "METADATA", "PKG-INFO") or source.name.lower().startswith(("license", "changelog")):
        return READERS
    if is_for_agents(source):
        return TO_A_MODEL
    return READERS if is_runtime(skill_type) or source.name.lower().startswith("readme") else OPEN


def _findings_in(source: SourceFile, audience: frozenset[str]) -> Iterator[Finding]:
    is_data = not is_document(source)
    yield from _comments(source)
    if not is_data:
        yield from _unseen(source, in_code=False)
        yield from _out_of_sight(source, in_code=False)
        yield from _links(source)
    pieces = list(_pieces(source.lines, is_data=is_data))
    for phrase in orders_in([piece for _, piece in pieces], audience):
        place = source.place(pieces[phrase.first][0], pieces[phrase.last][0])
        yield new_finding("prompt_injection", phrase.severity, place, f"The text {phrase.what}.", source.path)


def _pieces(lines: Sequence[str], *, is_data: bool) -> Iterator[tuple[int, str]]:
    """Yield the pieces of the lines with their numbers, escapes undone.

    Of data and of lines between fences those are blank that are no words: other scanners read them as code.
    """
    fenced = False
    for number, line in enumerate(lines, start=1):
        is_fence = _FENCE.match(line) is not None
        fenced ^= is_fence
        bare = " " if "<!--" in line and "-->" in line else line
        bare = html.unescape(bare) if "&#" in bare else bare
        bare = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", bare) if "\\" in bare else bare
        for start in range(0, max(len(bare), 1), _LINE - _LONGEST):
            piece = bare[start : start + _LINE]
            yield number, piece if is_fence or not (fenced or is_data) or _WORDED.search(piece) else " "


def _comments(source: SourceFile) -> Iterator[Finding]:
    """Yield a finding for each HTML comment that instructs the model; one that is never closed hides all after it."""
    for match in re.finditer(r"<!--(.*?)(?:-->|\Z)", source.text, re.DOTALL):
        start, lines = source.line_at(match.start(1)), match[1].split("\n")
        phrases = list(orders_in(lines, HIDDEN))
        for phrase in phrases:
            place = source.place(start + phrase.first, start + phrase.last)
            text = f"An HTML comment that readers do not see {phrase.what}."
            yield new_finding("prompt_injection", covert(phrase.severity), place, text, source.path)
        if not phrases and _SPEAKS_TO_MODEL.search(match[1].casefold()):
            place = source.place(start, start + len(lines) - 1)
            text = "An HTML comment that readers do not see addresses the model."
            yield new_finding("prompt_injection", "medium", place, text, source.path)


def _unseen(source: SourceFile, *, in_code: bool) -> Iterator[Finding]:
    """Yield a finding per line that holds invisible or direction-changing characters."""
    for number, line in enumerate(source.lines if not source.text.isascii() else (), start=1):
        if line.isascii():
            continue
        bare = _FLAG.sub("", line)
        unseen = set(_UNSEEN.findall(bare))
        place = source.place(number)
        hidden_text = "".join(chr(ord(c) - _TAG_BASE) for c in bare if ord(c) >= _TAG_BASE)
        if len(set(hidden_text)) > _FEW_TAGS:
            phrase = next(orders_in([hidden_text], HIDDEN), None)
            severity = covert(phrase.severity if phrase is not None else "high")
            yield new_finding(
                "prompt_injection", severity, place, "Unicode tag characters spell out text.", source.path
            )
        elif unseen & _BIDI:
            text = "Bidirectional controls show this line in another order than it is read in."
            severe = in_code or is_for_agents(source)
            yield new_finding("other", "high" if severe else "medium", place, text, source.path)
        elif (count := len(_BLANKS.findall(bare))) > _FEW_UNSEEN:
            severity = "high" if count >= _MANY_UNSEEN else "medium"
            yield new_finding("other", severity, place, "Invisible characters stand in this line.", source.path)
        elif _IMITATING.search(bare):
            text = "Letters of another alphabet imitate those of a name in this line."
            yield new_finding("other", "high", place, text, source.path)


def _out_of_sight(source: SourceFile, *, in_code: bool) -> Iterator[Finding]:
    """Yield a finding per line that says something to a model in a title, in a style that hides, or encoded."""
    rotated = not in_code and _SAYS_ROTATED.search(source.text) is not None
    for number, line in enumerate(source.lines, start=1):
        for what, text in _concealed(line[:_LINE], rotated=rotated, in_code=in_code):
            phrase = next(orders_in(text.split("\n"), HIDDEN), None)
            if phrase is not None:
                message = f"{what.capitalize()}, which readers do not see, {phrase.what}."
                yield new_finding(
                    "prompt_injection", covert(phrase.severity), source.place(number), message, source.path
                )
                break
            if _SPEAKS_TO_MODEL.search(text.casefold()):
                message = f"{what.capitalize()}, which readers do not see, addresses the model."
                yield new_finding("prompt_injection", "high", source.place(number), message, source.path)
                break


def _concealed(line: str, *, rotated: bool, in_code: bool) -> Iterator[tuple[str, str]]:
    for one in () if in_code else _rules().concealed:
        for match in one.pattern.finditer(line):
            yield one.what, match[1][::-1] if "backwards" in one.what else match[1]
    for text in decoded_texts(line):
        if " " in text:
            yield "an encoded text", text
    if rotated:
        yield "a text of shifted letters", line.translate(_ROTATED)


def decoded_texts(line: str) -> Iterator[str]:
    """Yield the printable texts that a line holds in base64 or hexadecimal digits."""
    for pattern, decode in ((_BASE64, _of_base64), (_HEX, bytes.fromhex)):
        for match in pattern.finditer(line):
            try:
                text = decode(match[0].replace(":", "")).decode().strip("\n")
            except (binascii.Error, ValueError):
                continue
            if text.isprintable():
                yield text


def _of_base64(text: str) -> bytes:
    bare = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    return base64.b64decode(bare + "=" * (-len(bare) % 4))


def _links(source: SourceFile) -> Iterator[Finding]:
    """Yield images that send text along when they are shown, and links that run code."""
    for number, line in enumerate(source.lines, start=1):
        place = source.place(number)
        for match in _IMAGE.finditer(line) if "](" in line else ():
            host = host_of(match[1])
            if _SLOT.search(match[1].partition("?")[2]) and not _PICTURES.search(host):
                text = f"Showing this image sends text that the model fills in to {printable(host)}."
                yield new_finding("secrets_exposure", "high", place, text, match[1])
        if _ACTIVE.search(line):
            yield new_finding("other", "high", place, "A link runs code when it is opened.", source.path)


def host_of(url: str) -> str:
    """Return the host of a URL, lower case; empty if the text is none."""
    try:
        return (urlsplit(url).hostname or "") if "://" in url else ""
    except ValueError:
        return ""


def hosts_in(text: str) -> frozenset[str]:
    """Return the hosts of the text's URLs."""
    urls = (match[0].rstrip(".,;:!?)]}'\"") for match in _URL.finditer(text))
    return frozenset(host for url in urls if (host := host_of(url)))


def hosts_by_line(source: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield (line, host) of every URL in the text."""
    for number, line in enumerate(source.lines, start=1):
        if "://" in line:
            for host in sorted(hosts_in(line)):
                yield number, host
