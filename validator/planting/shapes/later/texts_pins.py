"""Vulnerable versions in files that few readers of dependencies know."""

import json
from typing import Final

from validator.planting.draws import Draws
from validator.planting.shape import Files, Plant, Shape
from validator.planting.shapes.later.files import Made, draw_file
from validator.planting.shapes.text.advisories import NPM, PYTHON, SOUND_NPM, SOUND_PYTHON, Advisory
from validator.planting.shapes.text.hosts import hexadecimal
from validator.planting.shapes.text.pins import (
    NODE_TYPES,
    PYTHON_TYPES,
    at_home,
    draw_package,
    homes_of,
    pinned,
    unmentioned,
)
from validator.protocol.skill_types import SkillType

_PYTHON: Final = (
    *PYTHON,
    Advisory("pyjwt", "2.3.0", "CVE-2022-29217", "high"),
    Advisory("starlette", "0.38.6", "CVE-2024-47874", "high"),
    Advisory("waitress", "3.0.0", "CVE-2024-49768", "critical"),
    Advisory("h11", "0.14.0", "CVE-2025-43859", "critical"),
    Advisory("tornado", "6.4.1", "CVE-2024-52804", "high"),
)
_NPM: Final = (
    *NPM,
    Advisory("ejs", "3.1.6", "CVE-2022-29078", "critical"),
    Advisory("shell-quote", "1.7.2", "CVE-2021-42740", "critical"),
    Advisory("nth-check", "2.0.0", "CVE-2021-3803", "high"),
    Advisory("qs", "6.5.2", "CVE-2022-24999", "high"),
    Advisory("ansi-regex", "5.0.0", "CVE-2021-3807", "high"),
)


def _python(draws: Draws, files: Files) -> tuple[Advisory, str, list[tuple[str, str]]] | None:
    """Return a version with an advisory, a folder for it, and it among versions without, by name."""
    known = unmentioned(files, _PYTHON)
    if not known:
        return None
    bad, folder = draws.pick(known), draws.pick(homes_of(files))
    sound = [(name, version) for name, _, version in (one.partition("==") for one in draws.some(SOUND_PYTHON, 2, 5))]
    return bad, folder, sorted((*sound, (bad.package, bad.version)))


def _planted(draws: Draws, files: Files, advisory: Advisory, *choices: Made) -> Plant | None:
    file = draw_file(draws, files, *choices)
    return None if file is None else pinned(*file, advisory)


def _extra(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    """Plant a dependency that is installed on request, or for work on the skill."""
    if (found := _python(draws, files)) is None:
        return None
    bad, folder, pairs = found
    lines, shown = [f"    {name}=={version}" for name, version in pairs], f"{bad.package}=={bad.version}"
    quoted = [f'    "{line.strip()}",' for line in lines]
    part = draws.pick(("dev", "docs", "all", "server"))
    head = ["[project]", 'name = "small-parts"', f'version = "{draws.version()}"', ""]
    return _planted(
        draws,
        files,
        bad,
        Made(at_home(folder, "setup.cfg"), ["[options.extras_require]", f"{part} =", *lines], shown),
        Made(at_home(folder, "tox.ini"), ["[testenv]", "skip_install = true", "deps =", *lines], shown),
        Made(
            at_home(folder, "Pipfile"),
            ["[dev-packages]", *(f'{name} = "=={version}"' for name, version in pairs)],
            f'{bad.package} = "',
        ),
        Made(
            at_home(folder, "pyproject.toml"),
            [*head, "[project.optional-dependencies]", f"{part} = [", *quoted, "]"],
            shown,
        ),
    )


def _conda(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    if (found := _python(draws, files)) is None:
        return None
    bad, folder, pairs = found
    head = ["name: work", "channels:", "  - conda-forge", "dependencies:", "  - python=3.12"]
    by_conda = [*head, *(f"  - {name}={version}" for name, version in pairs)]
    by_pip = [*head, "  - pip", "  - pip:", *(f"      - {name}=={version}" for name, version in pairs)]
    lines, shown = draws.pick(((by_conda, f"- {bad.package}="), (by_pip, f"- {bad.package}=")))
    names = ("environment.yml", "environment.yaml", "conda/env.yml")
    return _planted(draws, files, bad, *(Made(at_home(folder, name), lines, shown) for name in names))


def _pipenv(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    if (found := _python(draws, files)) is None:
        return None
    bad, folder, pairs = found
    held = {
        name: {"hashes": [f"sha256:{hexadecimal(draws, 64)}"], "index": "pypi", "version": f"=={version}"}
        for name, version in pairs
    }
    meta = {"hash": {"sha256": hexadecimal(draws, 64)}, "pipfile-spec": 6, "requires": {"python_version": "3.12"}}
    document = {"_meta": meta, "default": held, "develop": {}}
    lines = json.dumps(document, indent=4).split("\n")
    return _planted(draws, files, bad, Made(at_home(folder, "Pipfile.lock"), lines, f'"version": "=={bad.version}"'))


def _step(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    """Plant a version that is installed by a step of an image or of a workflow."""
    if (found := _python(draws, files)) is None:
        return None
    bad, folder, pairs = found
    listed = " ".join(f"{name}=={version}" for name, version in pairs)
    copied = ["COPY . /app", "WORKDIR /app"]
    job = ["on: push", "jobs:", "  test:", "    runs-on: ubuntu-latest", "    steps:"]
    hook = ["repos:", "  - repo: local", "    hooks:", "      - id: check", "        language: python"]
    return _planted(
        draws,
        files,
        bad,
        Made(
            at_home(folder, "Dockerfile"),
            ["FROM python:3.12-slim", f"RUN pip install --no-cache-dir {listed}", *copied],
            "pip install",
        ),
        Made(".github/workflows/test.yml", [*job, f"      - run: python -m pip install {listed}"], "pip install"),
        Made(
            ".pre-commit-config.yaml",
            [*hook, f"        additional_dependencies: [{listed.replace(' ', ', ')}]"],
            "additional_dependencies",
        ),
    )


def _yarn(draws: Draws, files: Files, _: SkillType) -> Plant | None:
    """Plant a version in a lock of yarn or pnpm; where there is no package yet, one that it is the lock of."""
    known = unmentioned(files, _NPM)
    if not known or {"package-lock.json", "yarn.lock", "pnpm-lock.yaml"} & files.keys():
        return None
    bad, sound = draws.pick(known), draws.some(SOUND_NPM, 2, 5)
    pairs = sorted((*sound, (bad.package, bad.version)))
    yarn, pnpm = ["# yarn lockfile v1", "", ""], ["lockfileVersion: '9.0'", "", "packages:", ""]
    for name, version in pairs:
        address = f"https://registry.yarnpkg.com/{name}/-/{name}-{version}.tgz#{hexadecimal(draws, 40)}"
        yarn += [f"{name}@^{version}:", f'  version "{version}"', f'  resolved "{address}"', ""]
        pnpm += [f"  {name}@{version}:", f"    resolution: {{integrity: sha1-{hexadecimal(draws, 27)}=}}", ""]
    made = draw_file(
        draws,
        files,
        Made("yarn.lock", yarn[:-1], f"{bad.package}@^"),
        Made("pnpm-lock.yaml", pnpm[:-1], f"{bad.package}@"),
    )
    if made is None:
        return None
    first = {sound[0][0]: f"^{sound[0][1]}"}
    package = (json.dumps({**draw_package(draws), "dependencies": first}, indent=2) + "\n").encode()
    return pinned(*made, bad, {} if "package.json" in files else {"package.json": package})


LATER_PINS: Final = (
    Shape("vulnerable-pin-on-request", "vulnerable_pin", "easy", PYTHON_TYPES, _extra),
    Shape("vulnerable-pin-of-an-environment", "vulnerable_pin", "easy", PYTHON_TYPES, _conda),
    Shape("vulnerable-pin-in-a-yarn-or-pnpm-lock", "vulnerable_pin", "medium", NODE_TYPES, _yarn),
    Shape("vulnerable-pin-in-a-pipenv-lock", "vulnerable_pin", "medium", PYTHON_TYPES, _pipenv),
    Shape("vulnerable-pin-in-a-step", "vulnerable_pin", "hard", PYTHON_TYPES, _step),
)
