"""Orders to a model in other languages than English: to forget, to send something away, to keep still."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from miner.analysis.injection import Phrase
from miner.analysis.sentences import Sentence


class _Language(NamedTuple):
    """Words that tell it, and beginnings of words: what forgets, what is forgotten, how to keep still, what sends."""

    mark: str
    forget: str
    told: str
    still: str
    send: str


_LANGUAGES: Final = (
    _Language(  # German
        r"\b(?:und|oder|der|die|das|den|dem|ein|eine|ist|nicht|zu|an|auf|alle|von|mit|du|sie|bitte|dass|ab|jetzt"
        r"|nur)\b",
        r"ignorier|vergiss|vergesst|vergessen sie|missachte|übergeh|setze? .{0,20}außer kraft",
        r"anweisung|anleitung|regel|vorgabe|instruktion|richtlinie|auftrag|aufträge",
        r"(?:sag|erzähl|verrat|teil|erwähn|informier)\w{0,4}\b.{0,50}?\b(?:nicht|nichts|niemand\w*|kein\w*)\b"
        r"|ohne .{0,30}(?:wissen|rückfrage)",
        r"\b(?:sende|schick|leite|übermittel|melde|füge|lade|trage)",
    ),
    _Language(  # French
        r"\b(?:et|ou|le|la|les|des|du|un|une|est|pas|[àa]|que|qui|vers|dans|avec|tes|vos|tu|vous|ne|ce)\b",
        r"ignor|oubli|(?:fais|faites) abstraction|ne (?:tiens|tenez) pas compte|n[eé]glige",
        r"instruction|consigne|r[eè]gle|directive|indication",
        r"n'en (?:parle|dis|dites|fais)|sans (?:le |en )?(?:dire|pr[eé]venir|informer)"
        r"|ne (?:le |lui |la )?(?:dis|dites|parle|mentionne|r[eé]v[eè]le)\w*\b.{0,40}?\b(?:pas|rien|jamais)",
        r"\b(?:envoi|envoy|transmet|ajout|joins|poste|publie|inclus)",
    ),
    _Language(  # Spanish
        r"\b(?:y|o|el|la|los|las|un|una|es|no|que|en|del?|al|con|por|tus|su|se|lo)\b",
        r"ignor|olvid|ha(?:z|gan) caso omiso|descart|omite",
        r"instrucci|regla|indicaci|directriz|directric|[oó]rden",
        r"no (?:se )?(?:lo |la )?(?:digas?|mencion|cuentes|reveles|inform)|sin (?:decir|avisar|informar)",
        r"\b(?:env[ií]|mand[ae]|incluy|añad|agreg|reenv|sub[ea]|publi)",
    ),
    _Language(  # Italian
        r"\b(?:e|o|il|lo|la|gli|le|un|una|non|che|in|di|del|della|al|con|tutti|tutte|le|tuo|ne)\b",
        r"ignor|dimentic|non tenere conto|trascura",
        r"istruzion|regol|indicazion|direttiv|ordini",
        r"non (?:parlarne|dirlo|dire|menzionar|rivelar|farne)|senza (?:dirlo|avvis|inform)",
        r"\b(?:invi[ai]|mand[ai]|inoltr|aggiung|carica|trasmett|includ)",
    ),
    _Language(  # Portuguese
        r"\b(?:e|ou|o|os|as|um|uma|n[ãa]o|que|em|de|do|da|ao|com|por|seu|suas?)\b",
        r"ignor|esque[çc]|desconsider",
        r"instru[çc]|regra|diretriz|orienta[çc]|ordens",
        r"n[aã]o (?:o |lhe )?(?:conte|diga|mencione|revele|informe|fale)|sem (?:dizer|avisar|informar)",
        r"\b(?:envi[ae]|mand[ae]|inclua|adicion|encaminh|publique)",
    ),
    _Language(  # Dutch
        r"\b(?:en|of|de|het|een|is|niet|dat|in|van|op|met|aan|alle|je|dit|naar|voor)\b",
        r"negeer|vergeet|sla .{0,20} over",
        r"instructie|regel|richtlijn|opdracht|aanwijzing",
        r"(?:vertel|zeg|meld|noem|onthul)\w{0,2}\b.{0,50}?\b(?:niet|niets|niemand)\b|zonder .{0,20}te (?:zeggen"
        r"|melden)",
        r"\b(?:stuur|zend|verstuur|voeg|plaats|upload)",
    ),
    _Language(  # Polish
        r"\b(?:i|lub|nie|na|do|[żz]e|si[eę]|to|jest|w|z|ca[łl][aą]|wszystkie|ten|o|tym)\b",
        r"zignoruj|ignoruj|zapomnij|pomi[nń]",
        r"instrukcj|polece[nń]|zasad|regu[lł]|wytyczn",
        r"nie (?:m[oó]w|wspominaj|ujawniaj|informuj)",
        r"\b(?:wy[sś]lij|prze[sś]lij|dodaj|przeka[zż]|do[lł][aą]cz)",
    ),
    _Language(  # Turkish
        r"\b(?:ve|bir|bu|i[çc]in|t[uü]m|[öo]nceki|ile|kullan[ıi]c[ıi]\w*|de|da)\b",  # noqa: RUF001 - Turkish
        r"yok say|g[oö]rmezden gel|unut",
        r"talimat|kural|y[oö]nerge",
        r"s[oö]yleme|bahsetme|bildirme",
        r"g[oö]nder|ilet|ekle\b",
    ),
    _Language(  # Russian
        r"[а-яё]{2,}",  # noqa: RUF001 - the alphabet
        r"игнорир|забудь|не обращай",
        r"инструкц|указани|правил|директив",
        r"не (?:говори|сообщай|упоминай|рассказывай|раскрывай)",
        r"отправ|перешли|передай|добав|включи",
    ),
    _Language(  # Chinese
        r"[\u4e00-\u9fff]",
        r"忽略|无视|無視|忘记|忘記|不要理会",
        r"指示|指令|说明|說明|规则|規則|提示",
        r"不要告[诉訴]|别告诉|不要提及|不得透露|请勿告知",
        r"发送|發送|传送|提交|附上|转发|上传",
    ),
    _Language(  # Japanese
        r"[\u3040-\u30ff]",
        r"無視|忘れ|従わない",
        r"指示|命令|ルール|規則|プロンプト",
        r"伝えない|言わない|知らせない|教えない|触れない|明かさない",
        r"送信|送っ|転送|添付|投稿",
    ),
    _Language(  # Korean
        r"[\uac00-\ud7af]",
        r"무시|잊어|따르지",
        r"지시|지침|규칙|명령|프롬프트",
        r"말하지|알리지|언급하지|밝히지",
        r"보내|전송|전달|첨부",
    ),
)
_AWAY: Final = re.compile(r"https?://\S{0,300}|\b[\w.+-]{1,64}@[\w-]{1,63}\.\w")
_ENGLISH: Final = re.compile(r"\b(?:the|and|or|of|to|is|you|your|that|this|it|with|for|are|not|from|be|by|will|as)\b")
_SURE: Final = 2  # marks of a language that is certain
_SHORTEST: Final = 5
_LOOKED_AT: Final = 400  # characters, to tell a language


class _Compiled(NamedTuple):
    mark: re.Pattern[str]
    forgetting: re.Pattern[str]
    still: re.Pattern[str]
    sending: re.Pattern[str]


def _compiled(one: _Language) -> _Compiled:
    forgetting = rf"(?:{one.forget}).{{0,80}}?(?:{one.told})|(?:{one.told}).{{0,40}}?(?:{one.forget})"
    return _Compiled(*map(re.compile, (one.mark, forgetting, one.still, one.send)))


_COMPILED: Final = tuple(map(_compiled, _LANGUAGES))


def find_orders_abroad(paragraphs: Iterable[Sequence[Sentence]]) -> Iterator[Phrase]:
    """Yield the orders to a model in sentences of another language than English."""
    for paragraph in paragraphs:
        signs = [_signs_of(sentence.text) for sentence in paragraph]
        for index, sentence in enumerate(paragraph):
            here = signs[index]
            around = set().union(*signs[max(0, index - 1) : index + 2])
            if "forgetting" in here:
                family = "tells a model, in another language, that what it was told before no longer counts"
                yield Phrase(family, "high", sentence.first, sentence.last)
            elif {"sending", "away"} <= here or ("away" in here and "still" in around):
                yield Phrase("sends something away, in another language", "high", sentence.first, sentence.last)


def _signs_of(text: str) -> set[str]:
    if len(text) < _SHORTEST:
        return set()
    said = _AWAY.sub(" ", text)
    language, marks = _language_of(said)
    if language is None:
        return set()
    signs = (
        ("forgetting", language.forgetting.search(said)),
        ("still", language.still.search(said)),
        ("sending", language.sending.search(said)),
        ("away", said != text),
    )
    return {name for name, seen in signs if seen and (marks >= _SURE or name == "forgetting")}


def _language_of(text: str) -> tuple[_Compiled | None, int]:
    """Return the language whose marks are the most, with their number; None for English and where nothing tells."""
    text = text[:_LOOKED_AT]
    most, language = len(_ENGLISH.findall(text)), None
    for one in _COMPILED:
        marks = len(one.mark.findall(text))
        if marks > most:
            most, language = marks, one
    return language, most
