"""The text service: summaries, keywords, joins and reports, without any model."""

import re
from collections import Counter
from typing import Final

from miner.services.params import Params, count_of, text_of, texts_of
from validator.protocol.workflow_run import StepOutput

# Every sign is looked at once: what has no end is a sentence, too.
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]?")
_WORD: Final = re.compile(r"[a-z]{4,}")
_MOST: Final = 20


def summarise(params: Params) -> StepOutput:
    """Return the `sentences` sentences of `text` that share most with the rest of it, in their order."""
    return _text(shortened(text_of(params, "text"), count_of(params, "sentences", _MOST)))


def keywords(params: Params) -> StepOutput:
    """Return the `count` most frequent longer words of `text`; of equally frequent ones the first by alphabet."""
    frequency = Counter(_WORD.findall(text_of(params, "text").lower()))
    ranked = sorted(frequency, key=lambda word: (-frequency[word], word))
    chosen = ranked[: count_of(params, "count", _MOST)]
    return StepOutput(text=", ".join(chosen), code=None, data=list(chosen))


def join(params: Params) -> StepOutput:
    """Return the texts of `parts`, one after the other."""
    return _text(" ".join(part.strip() for part in texts_of(params, "parts")))


def report(params: Params) -> StepOutput:
    """Return a short report: `title` over `body`."""
    title, body = text_of(params, "title"), text_of(params, "body")
    return StepOutput(text=f"# {title}\n\n{body}\n", code=None, data={"title": title, "body": body})


def shortened(text: str, sentences: int) -> str:
    """Return the sentences with the most frequent words per word, in the order of the text."""
    found = [match.strip() for match in _SENTENCE.findall(text) if match.strip()]
    frequency = Counter(_WORD.findall(text.lower()))

    def weight(sentence: str) -> float:
        words = _WORD.findall(sentence.lower())
        return sum(frequency[word] for word in words) / len(words) if words else 0.0

    ranked = sorted(range(len(found)), key=lambda i: (-weight(found[i]), i))
    return " ".join(found[i] for i in sorted(ranked[:sentences]))


def _text(text: str) -> StepOutput:
    return StepOutput(text=text, code=None, data=None)
