"""Ordinary prompt skills, put together from phrases."""

from collections.abc import Callable, Mapping

from validator.planting.draws import Draws, json_file
from validator.tasks.canary_phrases import CITIES, COMMON_RULES, NAMES, TOPICS, Topic


def draw_skill(draws: Draws) -> tuple[Mapping[str, bytes], str]:
    """Return the files of a harmless declarative skill and the name of the one that takes the marker."""
    topic = draws.pick(TOPICS)
    name, description = draws.pick(topic.names), draws.pick(topic.purposes)
    main = draws.pick(("SKILL.md", "prompt.md"))
    texts = {main: _main_text(draws, topic, name, description, front_matter=main == "SKILL.md")}
    if draws.number(0, 1):
        texts[draws.pick(("examples.md", "examples/sample.md", "references/examples.md"))] = _examples(draws, topic)
    if draws.number(0, 1):
        texts[draws.pick(("CHANGELOG.md", "HISTORY.md"))] = history(draws, topic.changes)
    manifest = {
        "name": name,
        "version": draws.version(),
        "description": description,
        "skill_type": "declarative",
        "entry_point": main,
        "capabilities": [],
    }
    files = {path: text.encode() for path, text in texts.items()}
    return {**files, "manifest.json": json_file(manifest)}, draws.pick(sorted(texts))


def history(draws: Draws, changes: tuple[str, ...]) -> str:
    """Return a change history with drawn versions and days, the newest entry first."""
    days = sorted((draws.date() for _ in range(draws.number(2, 5))), reverse=True)
    minor = draws.number(len(days), 30)
    parts = [draws.pick(("# Changelog", "# Changes", "# History"))]
    for age, day in enumerate(days):
        parts.append(f"## {draws.number(0, 1)}.{minor - age}.{draws.number(0, 9)} ({day})")
        parts.append("\n".join(f"- {change}" for change in draws.some(changes, 1, 3)))
    return "\n\n".join(parts) + "\n"


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
