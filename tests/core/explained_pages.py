"""The golden pages of `validator explain`: which there are, and how they are made."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

import structlog
from explained import ASSORTED_ROUNDS, COHORT_ROUNDS, HELD_UP, HOTKEYS, assorted, cohort, stalled
from planned import CYCLE, GOOD, GREEDY, SHAKY, SLOW, judged, planned
from weights_world import FAILING, WITHDRAWN, unpaid
from world import World

from validator.store import Store, open_store

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "explain"
SCENARIOS: Final[dict[str, Callable[[Store], Awaitable[World]]]] = {
    "assorted": assorted,
    "cohort": cohort,
    "stalled": stalled,
    "planned": planned,
    "judged": judged,
    "unpaid": unpaid,
}
_LAST, _FLAGGED = str(ASSORTED_ROUNDS - 1), str(COHORT_ROUNDS - 1)


class Example(NamedTuple):
    """One page: in which scenario, and what is asked."""

    scenario: str
    arguments: tuple[str, ...]


EXAMPLES: Final[dict[str, Example]] = {
    "winner": Example("assorted", (HOTKEYS[4], "--round", _LAST)),  # also a group of three without truth, and D-7
    "auditor": Example("assorted", (HOTKEYS[5], "--round", "3")),  # not drawn and in flight, next to it
    "excluded": Example("assorted", (HOTKEYS[7], "--round", _LAST)),
    "gate-failure": Example("assorted", (HOTKEYS[6], "--round", "3")),
    "flagged": Example("cohort", (HOTKEYS[0], "--round", _FLAGGED)),
    "early-answer": Example(
        "assorted", (HOTKEYS[1], "--round", _LAST)
    ),  # a group of four, and quality alone, next to it
    "no-verdict": Example("assorted", (HOTKEYS[2], "--round", _LAST)),  # D-7, and a status other than 200
    "void-task": Example("assorted", (HOTKEYS[0], "--round", _LAST)),
    "void-dispatch": Example("stalled", (HOTKEYS[HELD_UP], "--round", "0")),
    "stalled-answer": Example("stalled", (HOTKEYS[0], "--round", "0")),
    "two-roles": Example("assorted", (HOTKEYS[2], "--round", "0")),
    "no-declaration": Example("assorted", (HOTKEYS[8], "--round", _LAST)),
    "workflow-good": Example("planned", (HOTKEYS[GOOD], "--round", "0")),  # rag, and a checklist next to it
    "workflow-timeout": Example("planned", (HOTKEYS[SLOW], "--round", "0")),
    "workflow-cycle": Example("planned", (HOTKEYS[CYCLE], "--round", "0")),
    "workflow-retry": Example(
        "planned", (HOTKEYS[SHAKY], "--round", "0")
    ),  # an unplanned one, and criteria that were missed
    "workflow-overcharged": Example("planned", (HOTKEYS[GREEDY], "--round", "0")),
    "workflow-deferred": Example("planned", (HOTKEYS[GOOD], "--round", "1")),  # and a data_transform next to it
    "workflow-judged": Example(
        "judged", (HOTKEYS[GOOD], "--round", "1")
    ),  # the code of the plan above, entered in round 2
    "workflow-judged-late": Example("judged", (HOTKEYS[GOOD], "--round", "2")),
    "workflow-waiting": Example("judged", (HOTKEYS[SHAKY], "--round", "1")),
    "workflow-miner": Example("planned", (HOTKEYS[SLOW],)),
    "miner": Example("assorted", (HOTKEYS[6],)),
    "unpaid-failing": Example("unpaid", (HOTKEYS[FAILING],)),
    "unpaid-withdrawn": Example("unpaid", (HOTKEYS[WITHDRAWN],)),
}
IN_JSON: Final = (
    "winner",
    "auditor",
    "excluded",
    "gate-failure",
    "flagged",
    "miner",
    "unpaid-failing",
    "workflow-good",
    "workflow-cycle",
    "workflow-judged",
)


def make_store(scenario: str, folder: Path) -> Path:
    """Play the scenario into a new database and return the settings that name it."""
    url = f"sqlite:///{folder}/{scenario}.sqlite"
    with structlog.testing.capture_logs():
        asyncio.run(_play(SCENARIOS[scenario], url))
    config = folder / f"{scenario}.toml"
    config.write_text(f'[validator]\nnetuid = 1\n[store]\nurl = "{url}"\n')
    return config


async def _play(scenario: Callable[[Store], Awaitable[World]], url: str) -> None:
    async with open_store(url, create=True) as store:
        await scenario(store)


def golden_json(text: str) -> str:
    """Return the document as its golden file has it: indented, without the moments that the machine decides."""
    return json.dumps(_timeless(json.loads(text)), indent=1, ensure_ascii=False) + "\n"


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {key: "?" if key == "received_at" and one else _timeless(one) for key, one in value.items()}
    return [_timeless(one) for one in value] if isinstance(value, list) else value
