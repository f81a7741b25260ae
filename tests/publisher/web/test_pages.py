"""Every screen in a real Chromium: no script runs, no outside request, axe finds nothing serious, screenshots.

`pytest -m pages tests/publisher/web` installs what this needs; PAGES_PICTURES=1 writes docs/pictures/page-*.png again.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explained import ASSORTED_ROUNDS, HOTKEYS
from web_kit import EVIL, TOKEN, played, served

sync_api = pytest.importorskip("playwright.sync_api", reason="pytest -m pages tests/publisher/web installs playwright")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.pages,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"),
]
LAST = ASSORTED_ROUNDS - 1
PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
SCREENS = {
    "now": "/",
    "rounds": "/rounds",
    "round": f"/rounds/{LAST}",
    "why": f"/rounds/{LAST}/miners/{HOTKEYS[4]}",
    "miners": "/miners",
    "miner": f"/miners/{HOTKEYS[6]}",
    "weights": "/weights",
    "sign-in": "/sign-in",
    "refused": "/rounds/999",
}
SHOWN = ("now", "round", "why", "miner", "weights")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(played(tmp_path_factory.mktemp("pages")), token=TOKEN) as address:
        yield address


@pytest.fixture(scope="module")
def browser(place: str) -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark"])
def tab(request: pytest.FixtureRequest, browser: Any, place: str) -> Iterator[Any]:
    """A tab of an operator who has typed the token; a complaint, or a request to others, fails the test."""
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1200, "height": 900})
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: complaints.append(dialog.message))
    tab.on("request", lambda sent: complaints.extend([] if sent.url.startswith((place, "data:")) else [sent.url]))
    tab.goto(f"{place}/sign-in")
    tab.get_by_label("The token").fill(TOKEN)
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{place}/")
    yield tab
    context.close()
    assert [one for one in complaints if "404 (Not Found)" not in one] == []


def test_every_screen_holds_up_in_a_browser(tab: Any, place: str, request: pytest.FixtureRequest) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="requirements/pages.txt has it").Axe()
    for name, path in SCREENS.items():
        tab.goto(place + path)
        assert tab.locator("h1").inner_text()
        found = axe.run(tab).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious] == [], name
        if os.environ.get("PAGES_PICTURES") and name in SHOWN and "light" in request.node.name:
            tab.screenshot(path=PICTURES / f"page-{name}.png")


def test_what_strangers_write_is_shown_as_text(tab: Any, place: str) -> None:
    tab.goto(f"{place}/weights")
    assert tab.get_by_text(EVIL.replace("\u202e", r"\u202e")).is_visible()
    assert tab.locator("script").count() == 0


def test_the_keyboard_reaches_an_answer(tab: Any, place: str) -> None:
    tab.goto(f"{place}/rounds/{LAST}")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.get_by_role("link", name="deadline_status").first.focus()
    tab.keyboard.press("Enter")
    answer = tab.get_by_role("region", name="The chosen answer")
    answer.wait_for()
    assert "It failed gate 1." in answer.inner_text()
    answer.get_by_role("link", name="Why this number").click()
    assert "Why this number: round" in tab.locator("h1").inner_text()


def test_a_narrow_screen_scrolls_tables_and_not_the_page(tab: Any, place: str) -> None:
    tab.set_viewport_size({"width": 360, "height": 700})
    for path in SCREENS.values():
        tab.goto(place + path)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, path
