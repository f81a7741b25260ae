"""Traces compared with three runs of a bundle, case by case (SPEC 15); vectors of a slow model are in tests/vectors."""

from collections.abc import Iterator
from typing import Any

import pytest

from sssa.cli.score import ExecutionCase, score_execution_case
from sssa.protocol import typed

FILES = ("network", "fs", "process", "secrets")
PROBES = {"network": ["net-probe"], "fs": ["fs-probe"], "process": ["echo-probe"]}
TRACER = {"network": [], "fs": ["tracer.so"], "process": ["tracer"], "secrets": []}
Signatures = dict[str, list[str]]
Document = dict[str, Any]


def with_probes(signatures: Signatures) -> Signatures:
    return {name: [*PROBES.get(name, []), *TRACER[name], *signatures.get(name, [])] for name in FILES}


def many(name: str, count: int) -> list[str]:
    """Names that are no family: they differ in letters."""
    return [f"{name}-{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(count)]


def ticks(count: int, since: int = 0) -> list[str]:
    """Names that are a family."""
    return [f"tick-{i}" for i in range(since, since + count)]


def honest() -> Document:
    """A bundle that does ten things in each base file, and one miner that ran it."""

    def does() -> Signatures:
        return with_probes({name: many(name, 10) for name in FILES})

    return {
        "runs": [{"ended": True, "signatures": one} for one in (does(), does(), with_probes({}))],
        "probes": PROBES,
        "mark": None,
        "made_here": True,
        "submitted": False,
        "answers": [{"hotkey": "m", "signatures": does()}],
    }


def scored(document: Document) -> Document:
    found: Document = score_execution_case(typed.convert(document, ExecutionCase))
    return found


def changed(path: str, change: Any, *more: Any) -> Document:
    """The honest case with one thing changed: (path, what to take away or to add), ..."""
    document = honest()
    for where, what in [(path, change), *zip(more[::2], more[1::2], strict=True)]:
        *way, last = where.split(".")
        target: Any = document
        for step in way:
            target = target[int(step) if step.isdigit() else step]
        if ".signatures." in where:
            drop = {one[1:] for one in what if one.startswith("-")}
            kept = [one for one in target[last] if one not in drop]
            target[last] = [*kept, *(one for one in what if not one.startswith("-"))]
        else:
            target[last] = what
    return document


def less(name: str, count: int) -> list[str]:
    return [f"-{one}" for one in many(name, count)]


MINE = "answers.0.signatures"
RUN1, RUN2, NONE = (f"runs.{i}.signatures" for i in range(3))
OTHER = {"hotkey": "other", "signatures": with_probes({})}
RAN: Signatures = honest()["answers"][0]["signatures"]
MARK = ["fs", "fs-mark"]
FOUR = with_probes({name: many(name, 1) for name in FILES})


def ticking(count: int, since: int = 0) -> Signatures:
    """Traces of the honest case with a family in the base file fs."""
    return {**RAN, "fs": [*RAN["fs"], *ticks(count, since)]}


def of_ticks(first: int, second: int, mine: int, lost: int = 0) -> Document:
    """The honest case with so many members of a family; the miner may lack files as well."""
    return changed(RUN1, ticking(first), RUN2, ticking(second), MINE, ticking(mine), f"{MINE}.fs", less("fs", lost))


CASES: list[tuple[str, Document, str]] = [
    ("what ran the bundle passes", honest(), "pass"),
    ("the order of records tells nothing", changed(f"{MINE}.fs", [*less("fs", 10), *many("fs", 10)[::-1]]), "pass"),
    ("probes alone fail", changed("answers.0.signatures", with_probes({})), "fail"),
    ("one file of ten may be missing", changed(f"{MINE}.fs", less("fs", 1)), "pass"),
    ("two files of ten may not", changed(f"{MINE}.fs", less("fs", 2)), "fail"),
    ("of nine files none may be missing", changed(f"{RUN1}.fs", less("fs", 1), f"{MINE}.fs", less("fs", 2)), "fail"),
    ("seven of ten hosts are enough", changed(f"{MINE}.network", less("network", 3)), "pass"),
    ("six of ten hosts are not", changed(f"{MINE}.network", less("network", 4)), "fail"),
    ("seven of ten commands are enough", changed(f"{MINE}.process", less("process", 3)), "pass"),
    ("six of ten commands are not", changed(f"{MINE}.process", less("process", 4)), "fail"),
    ("seven of ten secrets are enough", changed(f"{MINE}.secrets", less("secrets", 3)), "pass"),
    ("six of ten secrets are not", changed(f"{MINE}.secrets", less("secrets", 4)), "fail"),
    ("one file of eleven may be in no run", changed(f"{MINE}.fs", ["x"]), "pass"),
    ("two of twelve may not", changed(f"{MINE}.fs", ["x", "y"]), "fail"),
    ("one host of eleven may be in no run", changed(f"{MINE}.network", ["x"]), "pass"),
    ("two hosts may not", changed(f"{MINE}.network", ["x", "y"]), "fail"),
    ("two commands may not", changed(f"{MINE}.process", ["x", "y"]), "fail"),
    ("two secrets may not", changed(f"{MINE}.secrets", ["x", "y"]), "fail"),
    ("what varies at ours may vary at theirs", changed(f"{MINE}.fs", ["x", "y"], f"{RUN1}.fs", ["z"]), "pass"),
    ("what varies in one file excuses no other", changed(f"{MINE}.fs", ["x", "y"], f"{RUN1}.network", ["z"]), "fail"),
    ("what either run shows is not invented", changed(f"{MINE}.fs", ["x", "y"], f"{RUN1}.fs", ["x", "y"]), "pass"),
    ("nor what the second alone shows", changed(f"{MINE}.fs", ["x", "y"], f"{RUN2}.fs", ["x", "y"]), "pass"),
    ("what the tracer shows is nobody's", changed(f"{MINE}.fs", ["-tracer.so"]), "pass"),
    (
        "what the run of nothing shows counts for nobody",
        changed(f"{NONE}.fs", many("fs", 10), f"{MINE}.fs", less("fs", 10)),
        "pass",
    ),
    ("a third run's own signature is no invention", changed(f"{NONE}.fs", ["x"], f"{MINE}.fs", ["x", "y"]), "pass"),
    ("the fs probe must show", changed(f"{MINE}.fs", ["-fs-probe"]), "fail"),
    ("the network probe must show", changed(f"{MINE}.network", ["-net-probe"]), "fail"),
    ("the process probe must show", changed(f"{MINE}.process", ["-echo-probe"]), "fail"),
    (
        "a probe of the wrong file is none",
        changed(f"{MINE}.fs", ["-fs-probe"], f"{MINE}.network", ["fs-probe"]),
        "fail",
    ),
    (
        "a mark that shows passes",
        changed("mark", MARK, f"{RUN1}.fs", ["fs-mark"], f"{RUN2}.fs", ["fs-mark"], f"{MINE}.fs", ["fs-mark"]),
        "pass",
    ),
    (
        "the one missing file must not be the mark",
        changed("mark", MARK, f"{RUN1}.fs", ["fs-mark"], f"{RUN2}.fs", ["fs-mark"]),
        "fail",
    ),
    (
        "a mark in another file is none",
        changed("mark", MARK, f"{RUN1}.fs", ["fs-mark"], f"{RUN2}.fs", ["fs-mark"], f"{MINE}.network", ["fs-mark"]),
        "fail",
    ),
    ("without a mark none is asked for", changed("mark", None, f"{MINE}.fs", less("fs", 1)), "pass"),
    ("three stable signatures are few", changed(RUN1, with_probes({"fs": many("fs", 3)})), "few"),
    (
        "four are enough, over all files",
        changed(RUN1, FOUR, RUN2, FOUR, "answers.0.signatures", FOUR),
        "pass",
    ),
    (
        "as much that varies as is stable still compares",
        changed(f"{RUN1}.network", many("r", 40)),
        "pass",
    ),
    ("one more varies", changed(f"{RUN1}.network", many("r", 41)), "varies"),
    (
        "what the run of nothing varies in does not count",
        changed(f"{NONE}.network", many("r", 99)),
        "pass",
    ),
    ("a first run that was cut off tells nothing", changed("runs.0.ended", False), "ended"),
    ("nor a second", changed("runs.1.ended", False), "ended"),
    ("nor a third", changed("runs.2.ended", False), "ended"),
    ("a run of the bundle without a probe tells nothing", changed(f"{RUN2}.fs", ["-fs-probe"]), "probe"),
    ("nor a run of nothing without one", changed(f"{NONE}.process", ["-echo-probe"]), "probe"),
    ("cut off comes before a probe", changed("runs.0.ended", False, f"{RUN1}.fs", ["-fs-probe"]), "ended"),
    ("submitted comes before everything", changed("submitted", True, "runs.0.ended", False), "submitted"),
    (
        "a fail that nobody's pass confirms counts against nobody",
        changed("made_here", False, "answers.0.signatures", with_probes({})),
        "unconfirmed",
    ),
    (
        "a pass confirms it, in group order",
        changed("made_here", False, "answers", [OTHER, {"hotkey": "m", "signatures": RAN}]),
        "fail pass",
    ),
    ("made here, a fail needs nobody", changed("answers", [OTHER]), "fail"),
    ("a pass needs nobody either", changed("made_here", False), "pass"),
    ("nine in a run that differ in digits are one", of_ticks(9, 9, 40), "pass"),
    ("nine in the second run are enough", of_ticks(5, 9, 40), "pass"),
    ("nine over both runs are not", of_ticks(5, 8, 40), "None"),
    ("nine in the miner's traces are not", of_ticks(1, 1, 9), "None"),
    ("the one signature must show", of_ticks(30, 30, 0, lost=1), "fail"),
    (
        "the run of nothing has no member",
        changed(RUN1, ticking(9), RUN2, ticking(9), NONE, ticking(1), MINE, ticking(40)),
        "None",
    ),
    (
        "what the run of nothing shows is not the one signature",
        changed(
            *(RUN1, ticking(10), RUN2, ticking(10), NONE, with_probes({"fs": ticks(1)})),
            *(MINE, ticking(1), f"{MINE}.fs", less("fs", 1)),
        ),
        "fail",
    ),
    (
        "the mark is no member",
        changed("mark", ["fs", "tick-0"], RUN1, ticking(9), RUN2, ticking(9), MINE, ticking(40)),
        "None",
    ),
    (
        "nor does the form of the mark say that it shows",
        changed("mark", ["fs", "tick-0"], RUN1, ticking(10), RUN2, ticking(10), MINE, ticking(9, 1)),
        "fail",
    ),
    ("a smaller family excuses digits alone", changed(f"{MINE}.fs", ["x1", "x2"]), "None"),
    ("one more name is one too many", changed(f"{MINE}.fs", ["x1", "x2", "y"]), "fail"),
    (
        "what gets no event confirms no fail",
        changed("made_here", False, "answers", [OTHER, {"hotkey": "m", "signatures": ticking(4)}]),
        "unconfirmed",
    ),
    ("without a fail there is nothing to confirm", changed("made_here", False, MINE, ticking(4)), "None"),
    ("without valid primaries there are no results", changed("made_here", False, "answers", []), ""),
]


def verdicts(document: Document) -> Iterator[str]:
    if document["inconclusive"] is not None:
        yield document["inconclusive"]
    yield from (str(one["event"]).removeprefix("rerun_") for one in document["results"])


@pytest.mark.parametrize(("name", "document", "expected"), CASES, ids=[case[0] for case in CASES])
def test_what_a_careless_comparison_would_forget(name: str, document: Document, expected: str) -> None:
    assert name
    assert " ".join(verdicts(scored(document))) == expected
