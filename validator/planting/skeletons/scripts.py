"""Ordinary shell scripts: steps over the data that they carry, results in a folder of their own."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.skeletons.extras import About, extras, manifest
from validator.planting.skeletons.jobs import JOBS
from validator.protocol.skill_types import SkillType


class _Step(NamedTuple):
    """One step; `body` is indented by four columns, reads `$data` and writes below `$out`."""

    names: tuple[str, ...]
    about: str
    body: str


_STEPS: Final = (
    _Step(
        ("count_lines", "size_of_data"),
        "Counts the lines of the data.",
        '    wc -l < "$data" | tr -d " " > "$out/lines.txt"\n',
    ),
    _Step(("sort_data", "ordered"), "Sorts the lines, each once.", '    sort -u "$data" > "$out/sorted.txt"\n'),
    _Step(
        ("first_lines", "preview"),
        "Keeps the first lines as a preview.",
        '    head -n 5 "$data" > "$out/preview.txt"\n',
    ),
    _Step(
        ("longest_line", "widest"),
        "Finds the longest line.",
        "    awk 'length > best { best = length; line = $0 }\n"
        '        END { print best ": " line }\' "$data" > "$out/longest.txt"\n',
    ),
    _Step(
        ("word_counts", "count_words"),
        "Counts how often each word occurs.",
        '    tr -cs "[:alnum:]" "\\n" < "$data" | sort | uniq -c | sort -rn | head -n 20 > "$out/words.txt"\n',
    ),
    _Step(
        ("checksum", "fingerprint"),
        "Writes the checksum of the data.",
        '    cksum < "$data" | cut -d " " -f 1 > "$out/checksum.txt"\n',
    ),
    _Step(
        ("numbered", "number_lines"),
        "Numbers the lines.",
        '    nl -ba "$data" > "$out/numbered.txt"\n',
    ),
    _Step(
        ("split_parts", "in_parts"),
        "Splits the data into parts of fifty lines.",
        '    mkdir -p "$out/parts"\n    split -l 50 "$data" "$out/parts/part-"\n'
        '    ls "$out/parts" | wc -l | tr -d " "\n',
    ),
    _Step(
        ("upper_case", "capitals"),
        "Makes a copy in capital letters.",
        '    tr "[:lower:]" "[:upper:]" < "$data" > "$out/capitals.txt"\n',
    ),
    _Step(
        ("with_digits", "lines_with_numbers"),
        "Keeps the lines that hold a number.",
        '    grep -c "[0-9]" "$data" > "$out/digits.txt" || true\n',
    ),
    _Step(
        ("backup_copy", "keep_copy"),
        "Keeps a copy beside the results.",
        '    mkdir -p "$out/copy"\n    cp "$data" "$out/copy/"\n',
    ),
    _Step(
        ("columns", "first_column"),
        "Cuts out the first column.",
        '    cut -d "${separator:-,}" -f 1 "$data" | uniq > "$out/column.txt"\n',
    ),
)
_HEADS: Final = ("#!/usr/bin/env bash", "#!/bin/bash", "#!/usr/bin/env bash")
_MODES: Final = ("set -euo pipefail", "set -eu", "set -e\nset -u")
_LAST: Final = ('ls "$out"', "echo done", 'find "$out" -type f | sort')
_NAMES: Final = ("nightly", "data", "desk", "small", "weekly", "plain", "folder", "list")
_ENDS: Final = ("summary", "tidy", "report", "steps", "prepare", "overview")


def draw_script(draws: Draws) -> Mapping[str, bytes]:
    """Return the files of a harmless shell script, `main.sh`; it takes all steps, or the one named."""
    job = draws.pick(JOBS)
    file, name = draws.pick(job.files), f"{draws.pick(_NAMES)}-{draws.pick(_ENDS)}"
    steps = [(draws.pick(step.names), step) for step in draws.some(_STEPS, 3, 8)]
    apart = draws.number(0, 2) == 0
    about = f"Takes {len(steps)} steps over {file}: {steps[0][1].about[0].lower()}{steps[0][1].about[1:]}"
    functions = "\n".join(f"# {step.about}\n{called}() {{\n{step.body}}}\n" for called, step in steps)
    files = {
        "main.sh": _main(draws, f"{name}: {about}", file, [called for called, _ in steps], "" if apart else functions)
    }
    if apart:
        files["lib/steps.sh"] = f"# shellcheck shell=bash\n# The steps of {name}.\n\n{functions}"
    files[f"data/{file}"] = job.data(draws)
    if draws.number(0, 2):
        files["README.md"] = _readme(draws, name, about, [(called, step.about) for called, step in steps])
    if not draws.number(0, 2):
        files["tests/run.sh"] = (
            f'{draws.pick(_HEADS)}\nset -eu\ncd "$(dirname "$0")/.."\nbash main.sh {steps[0][0]}\necho passed\n'
        )
    capabilities = ("file_read", "file_write", "subprocess")
    text = manifest(draws, SkillType.EXECUTABLE_SCRIPT, About(name, about, "main.sh", capabilities))
    return {**extras(draws), **{path: text.encode() for path, text in files.items()}, "manifest.json": text}


def _main(draws: Draws, about: str, file: str, steps: list[str], functions: str) -> str:
    out = draws.pick(("out", "results", "build"))
    cases = "".join(f"    {step}) {step} ;;\n" for step in steps)
    every = "".join(f"        {step}\n" for step in steps)
    source = f"{functions}\n" if functions else '. "$here/lib/steps.sh"\n\n'
    return (
        f"{draws.pick(_HEADS)}\n# {about}\n{draws.pick(_MODES)}\n\n"
        f'here=$(cd "$(dirname "$0")" && pwd)\ndata="$here/data/{file}"\nout={out}\nmkdir -p "$out"\n\n'
        f'{source}case "${{1:-all}}" in\n{cases}    all)\n{every}        ;;\n'
        f'    *)\n        echo "unknown step: $1" >&2\n        exit 2\n        ;;\nesac\n'
        f"{draws.pick(_LAST)}\n"
    )


def _readme(draws: Draws, name: str, about: str, steps: list[tuple[str, str]]) -> str:
    rows = "\n".join(f"| `{called}` | {text} |" for called, text in steps)
    return (
        f"# {name}\n\n{about}\n\n| step | what |\n|---|---|\n{rows}\n\n"
        f"```bash\nbash main.sh\nbash main.sh {draws.pick(steps)[0]}\n```\n\nLast changed on {draws.date()}.\n"
    )
