"""Fills letters from a list of recipients."""

import pickle
from pathlib import Path
from string import Template

STATE = "written.pickle"


def load_state(path: Path) -> set[str]:
    """Return the names that have a letter already."""
    if not path.exists():
        return set()
    with path.open("rb") as stream:
        return set(pickle.load(stream))


def main() -> int:
    """Write a letter for everyone who has none yet."""
    here = Path(__file__).parent
    letter = Template((here / "letter.txt").read_text(encoding="utf-8"))
    written = load_state(Path(STATE))
    for line in (here / "people.txt").read_text(encoding="utf-8").splitlines():
        name, city = line.split(";")
        if name not in written:
            Path(f"letter-{name.lower()}.txt").write_text(letter.substitute(name=name, city=city), encoding="utf-8")
            written.add(name)
    with open(STATE, "wb") as stream:
        pickle.dump(sorted(written), stream)
    print(f"{len(written)} letters")
    return 0
