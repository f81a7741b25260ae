"""Ordinary Python programs: a job over the data that they carry, and small functions as subcommands."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.skeletons.extras import About, extras, manifest
from validator.planting.skeletons.jobs import JOBS, Job
from validator.planting.skeletons.tools import TOOLS, Tool
from validator.protocol.skill_types import SkillType

_KINDS: Final = {"number": "float", "integer": "int"}
# Recent releases that nothing is known about: what programs ask for beside the standard library.
_PINS: Final = (
    "attrs==25.3.0",
    "colorama==0.4.6",
    "iniconfig==2.1.0",
    "packaging==25.0",
    "pluggy==1.6.0",
    "six==1.17.0",
)

_MAIN: Final = '''"""@ABOUT@"""

@IMPORTS@

DATA = pathlib.Path(__file__).resolve().parent@UP@ / "data" / "@FILE@"
@FUNCTIONS@

def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="@PROGRAM@", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    job = commands.add_parser("@JOB@", help="the same as without a command")
    job.add_argument("path", nargs="?", default=str(DATA))
@PARSERS@    return parser


def main(arguments=None):
    """Run one command and print what it returns."""
    options = vars(build_parser().parse_args(arguments))
    command = options.pop("command") or "@JOB@"
    if command == "@JOB@":
        print(@CALL@(options.get("path", DATA)))
        return 0
    functions = {@TABLE@}
    try:
        print(functions[command](**options))
    except (ValueError, ArithmeticError) as problem:
        print(f"could not compute: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''


class _Program(NamedTuple):
    name: str
    about: str
    file: str
    job: tuple[str, Job]
    tools: tuple[tuple[str, Tool], ...]


def draw_package(draws: Draws) -> Mapping[str, bytes]:
    """Return the files of a harmless Python program, whose entry point is `module:main`; it needs no argument."""
    job = draws.pick(JOBS)
    called, program = draws.pick(job.names), draws.pick(job.names).replace("_", "-")
    tools = tuple((draws.pick(tool.names), tool) for tool in draws.some(TOOLS, 0, 6))
    about = _Program(program, draws.pick(job.about), draws.pick(job.files), (called, job), tools)
    entry, files = draws.pick((_single, _beside, _package))(about)
    files[f"data/{about.file}"] = job.data(draws)
    if draws.number(0, 2):
        files["README.md"] = _readme(draws, about)
    if draws.number(0, 1):
        files["requirements.txt"] = "".join(f"{pin}\n" for pin in sorted(draws.some(_PINS, 1, 4)))
    if tools and draws.number(0, 1):
        files["tests/test_functions.py"] = _tests(draws, entry, about)
    text = manifest(draws, SkillType.EXECUTABLE_PYTHON, About(program, about.about, f"{entry}:main", ("file_read",)))
    return {**extras(draws), **{path: text.encode() for path, text in files.items()}, "manifest.json": text}


def _imports(modules: Iterable[str]) -> str:
    return "\n".join(f"import {module}" for module in sorted(set(modules)))


def _sources(about: _Program) -> str:
    called, job = about.job
    sources = [
        job.source.replace("@NAME@", called),
        *(tool.source.replace("@NAME@", name) for name, tool in about.tools),
    ]
    return "\n\n".join(sources)


def _modules(about: _Program) -> list[str]:
    return [*about.job[1].imports, *(module for _, tool in about.tools for module in tool.imports)]


def _main(about: _Program, imports: str, functions: str, up: str = "") -> str:
    names = [name for name, _ in about.tools]
    parts = {
        "@ABOUT@": about.about,
        "@IMPORTS@": imports,
        "@UP@": up,
        "@FILE@": about.file,
        "@FUNCTIONS@": functions,
        "@PROGRAM@": about.name,
        "@JOB@": about.job[0].replace("_", "-"),
        "@PARSERS@": "".join(_parser(name, tool) for name, tool in about.tools),
        "@CALL@": about.job[0],
        "@TABLE@": ", ".join(f'"{name}": {name}' for name in names),
    }
    source = _MAIN
    for mark, text in parts.items():
        source = source.replace(mark, text)
    return source


def _parser(name: str, tool: Tool) -> str:
    lines = [f"    parser_{name} = commands.add_parser({json.dumps(name)}, help={json.dumps(tool.descriptions[0])})"]
    for key, schema in tool.properties.items():
        kind = ', nargs="+", type=float' if schema["type"] == "array" else ""
        kind = f", type={_KINDS[schema['type']]}" if schema["type"] in _KINDS else kind
        lines.append(
            f"    parser_{name}.add_argument({json.dumps(key)}{kind}, help={json.dumps(schema['description'])})"
        )
    return "\n".join(lines) + "\n"


def _single(about: _Program) -> tuple[str, dict[str, str]]:
    module = about.name.replace("-", "_")
    imports = _imports(("argparse", "pathlib", "sys", *_modules(about)))
    return module, {f"{module}.py": _main(about, imports, f"\n\n{_sources(about)}")}


def _beside(about: _Program) -> tuple[str, dict[str, str]]:
    """Put the functions into a module beside `main.py`."""
    names = ", ".join(sorted((about.job[0], *(name for name, _ in about.tools))))
    imports = f"{_imports(('argparse', 'pathlib', 'sys'))}\n\nfrom functions import {names}"
    return "main", {
        "main.py": _main(about, imports, ""),
        "functions.py": f'"""What the program can do."""\n\n{_imports(_modules(about))}\n\n\n{_sources(about)}',
    }


def _package(about: _Program) -> tuple[str, dict[str, str]]:
    """Make a package with a module for each function."""
    package = about.name.replace("-", "_") + "_app"
    called, job = about.job
    parts = [(called, job.imports, job.source), *((name, tool.imports, tool.source) for name, tool in about.tools)]
    files = {f"{package}/__init__.py": f'"""{about.about}"""\n'}
    for name, modules, source in parts:
        head = f"{_imports(modules)}\n\n\n" if modules else "\n"
        files[f"{package}/{name}_part.py"] = (
            f'"""One function of {about.name}."""\n\n{head}{source.replace("@NAME@", name)}'
        )
    ours = "\n".join(sorted(f"from {package}.{name}_part import {name}" for name, _, _ in parts))
    files[f"{package}/cli.py"] = _main(about, f"{_imports(('argparse', 'pathlib', 'sys'))}\n\n{ours}", "", ".parent")
    return f"{package}.cli", files


def _readme(draws: Draws, about: _Program) -> str:
    lines = [f"- `{name}`: {draws.pick(tool.descriptions)}" for name, tool in about.tools]
    parts = [f"# {about.name}", f"{about.about} Written in {draws.number(2019, 2026)}, needs Python 3.9 or newer."]
    if lines:
        parts += [f"## {draws.pick(('Commands', 'What else it does', 'Functions'))}", "\n".join(lines)]
    parts.append(f"The data lie in `data/{about.file}` and were last changed on {draws.date()}.")
    return "\n\n".join(parts) + "\n"


def _tests(draws: Draws, entry: str, about: _Program) -> str:
    cases = "\n\n".join(
        f"    def test_{name}(self):\n        self.assertIsInstance({entry}.{name}(**{_literal(tool.example)}), str)"
        for name, tool in draws.some(about.tools, 1, 4)
    )
    return (
        '"""Tests: python -m unittest discover, from the folder above."""\n\nimport unittest\n\n'
        f"import {entry}\n\n\nclass FunctionsTest(unittest.TestCase):\n{cases}\n\n\n"
        'if __name__ == "__main__":\n    unittest.main()\n'
    )


def _literal(example: dict[str, Any]) -> str:
    return repr(example)
