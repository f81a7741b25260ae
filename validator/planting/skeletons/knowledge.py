"""Ordinary bodies of knowledge: pages, questions with answers and lists about one subject."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from validator.planting.draws import Draws
from validator.planting.skeletons.extras import About, extras, manifest
from validator.planting.skeletons.lexicon import DAYS, QUESTIONS, SENTENCES, SUBJECTS, Subject
from validator.planting.skeletons.phrases import CITIES, NAMES
from validator.protocol.skill_types import SkillType

_FOLDERS: Final = ("docs/", "docs/", "knowledge/", "pages/", "")
_PAGES: Final = (
    "about",
    "rules",
    "prices",
    "opening-times",
    "first-visit",
    "faults",
    "contact",
    "members",
    "safety",
    "winter",
)


def draw_knowledge(draws: Draws) -> tuple[Mapping[str, bytes], str]:
    """Return the files of a harmless body of knowledge and the name of the one that takes the marker."""
    subject, folder = draws.pick(SUBJECTS), draws.pick(_FOLDERS)
    texts = {f"{folder}{page}.md": _page(draws, subject, page) for page in draws.some(_PAGES, 2, 7)}
    if draws.number(0, 1):
        texts[f"{folder}{draws.pick(('notes', 'remarks', 'minutes'))}.txt"] = _notes(draws, subject)
    if not draws.number(0, 3):
        texts["README.md"] = f"# {subject.names[0]}\n\n{subject.about} Last looked through on {draws.date()}.\n"
    files = {path: text.encode() for path, text in texts.items()}
    if draws.number(0, 2):
        files[f"{folder}{draws.pick(('faq', 'questions', 'answers'))}.jsonl"] = _records(draws, subject)
    name = draws.pick(subject.names)
    about = manifest(draws, SkillType.RAG_KNOWLEDGE, About(name, subject.about, ""))
    return {**extras(draws), **files, "manifest.json": about}, draws.pick(sorted(texts))


def _values(draws: Draws, subject: Subject) -> dict[str, object]:
    thing, things = draws.pick(subject.things)
    who, hour, price = draws.pick(subject.people), draws.number(8, 16), draws.number(3, 60)
    return {
        "thing": thing,
        "things": things,
        "Things": things.capitalize(),
        "who": who,
        "Who": who[0].upper() + who[1:],
        "act": draws.pick(subject.acts),
        "room": draws.pick(subject.rooms),
        "day": draws.pick(DAYS),
        "hour": hour,
        "later": hour + draws.number(1, 4),
        "price": price,
        "less": max(1, price * 2 // 3),
        "n": draws.number(2, 20),
        "m": draws.number(3, 45),
        "big": draws.number(40, 900),
        "date": draws.date(),
        "name": draws.pick(NAMES),
        "city": draws.pick(CITIES),
    }


def _sentence(draws: Draws, subject: Subject) -> str:
    if not draws.number(0, 5):
        return draws.pick(subject.facts)
    return draws.pick(SENTENCES).format(**_values(draws, subject))


def _paragraph(draws: Draws, subject: Subject) -> str:
    return " ".join(_sentence(draws, subject) for _ in range(draws.number(2, 5)))


def _items(draws: Draws, subject: Subject) -> str:
    mark = draws.pick(("-", "*", "1."))
    return "\n".join(f"{mark} {_sentence(draws, subject)}" for _ in range(draws.number(3, 7)))


def _table(draws: Draws, subject: Subject) -> str:
    rows = [f"| {things} | {draws.number(2, 40)} | {draws.pick(subject.rooms)} |" for _, things in subject.things]
    return "\n".join((f"| what | {draws.pick(('pieces', 'euros', 'days'))} | where |", "|---|---|---|", *rows))


def _link(draws: Draws, subject: Subject) -> str:
    page = draws.pick(_PAGES)
    return f"See also [{page.replace('-', ' ')}](https://www.example.org/{draws.pick(subject.names)}/{page})."


def _asked(draws: Draws, subject: Subject) -> str:
    question, answer = draws.pick(QUESTIONS)
    values = _values(draws, subject)
    return f"**{question.format(**values)}**\n\n{answer.format(**values)}"


_BLOCKS: Final[tuple[Callable[[Draws, Subject], str], ...]] = (
    *(_paragraph, _paragraph, _paragraph, _paragraph, _items, _items, _table, _link, _asked),
)


def _page(draws: Draws, subject: Subject, page: str) -> str:
    parts = [f"# {page.replace('-', ' ').capitalize()}", _paragraph(draws, subject)]
    for _ in range(draws.pick((1, 2, 3, 5, 9))):
        if draws.number(0, 1):
            parts.append(
                f"## {draws.pick((*subject.things, *subject.things))[1].capitalize()} and {draws.pick(subject.rooms)}"
            )
        parts += [draws.pick(_BLOCKS)(draws, subject) for _ in range(draws.number(1, 3))]
    return "\n\n".join(parts) + "\n"


def _notes(draws: Draws, subject: Subject) -> str:
    return "\n\n".join(f"{draws.date()}\n{_paragraph(draws, subject)}" for _ in range(draws.number(2, 20))) + "\n"


def _records(draws: Draws, subject: Subject) -> bytes:
    first, second = draws.pick((("question", "answer"), ("q", "a"), ("prompt", "text"), ("title", "body")))
    lines = []
    for number in range(draws.number(3, 60)):
        question, answer = draws.pick(QUESTIONS)
        values = _values(draws, subject)
        record: dict[str, object] = {first: question.format(**values), second: answer.format(**values)}
        lines.append(json.dumps({"id": number + 1, **record} if first == "q" else record))
    return ("\n".join(lines) + "\n").encode()
