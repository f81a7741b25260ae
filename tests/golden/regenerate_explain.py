"""Makes the golden pages of `validator explain` again.

Run `python tests/golden/regenerate_explain.py` after a change of the pages or of what is scored, and read what changed.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / room) for room in ("core", "cli")]

from cli_store import called  # noqa: E402 - it lies beside the tests
from explained_pages import (  # noqa: E402 - and so does this
    EXAMPLES,
    GOLDEN,
    IN_JSON,
    SCENARIOS,
    golden_json,
    make_store,
)


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        configs = {name: make_store(name, Path(folder)) for name in SCENARIOS}
        for name, (scenario, arguments) in EXAMPLES.items():
            asked = ("explain", *arguments, "--config", str(configs[scenario]))
            (GOLDEN / f"{name}.txt").write_text(called(*asked).stdout, encoding="utf-8")
            if name in IN_JSON:
                text = golden_json(called(*asked, "--json").stdout)
                (GOLDEN / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
