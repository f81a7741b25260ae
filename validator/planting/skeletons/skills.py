"""Ordinary prompt skills, put together from phrases."""

from collections.abc import Callable, Mapping
from typing import Final

from validator.planting.draws import Draws
from validator.planting.skeletons.extras import About, extras, history, manifest
from validator.planting.skeletons.phrases import CITIES, COMMON_RULES, NAMES, TOPICS, Topic
from validator.protocol.skill_types import SkillType

_MORE: Final = (
    "references/style.md",
    "references/cases.md",
    "checklist.md",
    "notes.md",
    "templates/outline.md",
    "glossary.txt",
)


def draw_skill(draws: Draws) -> tuple[Mapping[str, bytes], str]:
    """Return the files of a harmless declarative skill and the name of the one that takes the marker."""
    topic = draws.pick(TOPICS)
    name, description = draws.pick(topic.names), draws.pick(topic.purposes)
    main = draws.pick(("SKILL.md", "prompt.md"))
    texts = {main: _main_text(draws, topic, name, description, front_matter=main == "SKILL.md")}
    if draws.number(0, 1):
        texts[draws.pick(("examples.md", "examples/sample.md", "references/examples.md"))] = _examples(draws, topic)
    if not draws.number(0, 2):
        texts["UPDATES.md"] = history(draws, topic.changes)
    for path in draws.some(_MORE, 1, 4):
        texts[path] = _reference(draws, topic)
    files = {path: text.encode() for path, text in texts.items()}
    about = manifest(draws, SkillType.DECLARATIVE, About(name, description, main))
    return {**extras(draws), **files, "manifest.json": about}, draws.pick(sorted(texts))


def _main_text(draws: Draws, topic: Topic, name: str, description: str, *, front_matter: bool) -> str:
    sections: list[Callable[[], str]] = [
        lambda: _steps(draws, topic),
        lambda: _rules(draws, topic),
        lambda: _one_example(draws, topic),
    ]
    head = f"---\nname: {name}\ndescription: {description}\n---\n\n" if front_matter else ""
    title = f"# {name.replace('-', ' ').capitalize()}"
    opening = draws.pick((f"{description}", f"{description} {draws.pick(topic.occasions)}"))
    parts = [title, opening, *(section() for section in draws.some(sections, 3, 3))]
    if draws.number(0, 1):
        parts.insert(2, f"## {draws.pick(('When to use', 'Use it when', 'Scope'))}\n\n{draws.pick(topic.occasions)}")
    return head + "\n\n".join(parts) + "\n"


def _steps(draws: Draws, topic: Topic) -> str:
    steps = draws.some(topic.steps, 4, 7)
    heading = draws.pick(("Steps", "How to work", "Procedure", "What to do"))
    return f"## {heading}\n\n" + "\n".join(f"{i}. {step}" for i, step in enumerate(steps, start=1))


def _rules(draws: Draws, topic: Topic) -> str:
    rules = draws.some(topic.rules + COMMON_RULES, 3, 6)
    heading = draws.pick(("Style", "Rules of thumb", "Tone and form", "Notes"))
    return f"## {heading}\n\n" + "\n".join(f"- {rule}" for rule in rules)


def _one_example(draws: Draws, topic: Topic) -> str:
    return f"## {draws.pick(('Example', 'A worked example', 'Sample'))}\n\n{_example(draws, topic)}"


def _examples(draws: Draws, topic: Topic) -> str:
    lines = [f"{i}. {_example(draws, topic)}" for i in range(1, draws.number(2, 5) + 1)]
    return f"# {draws.pick(('Examples', 'Samples', 'Worked examples'))}\n\n" + "\n".join(lines) + "\n"


def _example(draws: Draws, topic: Topic) -> str:
    first, second = draws.some(NAMES, 2, 2)
    return draws.pick(topic.examples).format(
        a=first,
        b=second,
        city=draws.pick(CITIES),
        date=draws.date(),
        n=draws.number(2, 48),
        m=draws.number(3, 96),
        big=draws.number(1_000, 99_999),
    )


def _reference(draws: Draws, topic: Topic) -> str:
    """Return a longer page: rules, examples in a table or a list, links."""
    rules = draws.some(topic.rules + COMMON_RULES + topic.steps, 4, 12)
    parts = [
        f"# {draws.pick(('Reference', 'Checklist', 'Cases', 'Background', 'In detail'))}",
        draws.pick(topic.occasions),
    ]
    parts.append("\n".join(f"- {rule}" for rule in rules))
    if draws.number(0, 1):
        rows = [f"| {day} | {name} | {draws.number(2, 99)} |" for day, name in _days(draws)]
        parts.append("\n".join(("| day | who | pieces |", "|---|---|---|", *rows)))
    for _ in range(draws.number(1, 12)):
        parts.append(f"## {draws.pick(('Case', 'Example', 'Sample', 'Remark'))} {draws.number(10, 99)}")
        parts.append(" ".join(_example(draws, topic) for _ in range(draws.number(1, 3))))
    if draws.number(0, 1):
        parts.append(f"More under [{draws.pick(CITIES)} notes](https://docs.example.com/{draws.pick(topic.names)}).")
    return "\n\n".join(parts) + "\n"


def _days(draws: Draws) -> list[tuple[str, str]]:
    return [(draws.date(), name) for name in draws.some(NAMES, 3, 12)]
