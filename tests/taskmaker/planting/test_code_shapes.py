import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
import tree_sitter_bash
import tree_sitter_javascript
import tree_sitter_typescript
from hypothesis import given, settings
from hypothesis import strategies as st
from real_skills.shape_files import is_code, later_shapes
from tree_sitter import Language, Parser

from miner.bundles.written import written_bundles
from sssa.protocol.bundles import count_lines
from sssa.protocol.skill_types import SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.code.insertion import CODE_TYPES
from taskmaker.planting.look_alikes import known_labels
from taskmaker.planting.planting import ANY, Files, Plant, Shape
from taskmaker.planting.shapes import builtin_shapes

LATER_CODE = tuple(filter(is_code, later_shapes()))
ALL = (*filter(is_code, builtin_shapes()), *LATER_CODE)
STYLES = Path(__file__).parent / "styles"


def files_of(folder: Path) -> Files:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "__pycache__"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


BASES: dict[str, tuple[SkillType, Files]] = {
    one.name: (one.skill_type, one.files) for one in written_bundles() if one.skill_type in CODE_TYPES
} | {folder.name: (SkillType.MCP_SERVER, files_of(folder)) for folder in sorted(STYLES.iterdir())}
GRAMMARS = {
    ".js": Language(tree_sitter_javascript.language()),
    ".mjs": Language(tree_sitter_javascript.language()),
    ".ts": Language(tree_sitter_typescript.language_typescript()),
    ".sh": Language(tree_sitter_bash.language()),
    "": Language(tree_sitter_bash.language()),
}
# What the line that is pointed at must hold: said here once more, next to the shapes.
SINKS = {
    "machine-reported": r"urlopen|fetch|curl",
    "lasting-number": r"urlopen|fetch|curl",
    "open-to-everybody": r"chmod",
    "download-in-the-clear": r"http://",
    "guessable-number": r"random|RANDOM",
    "archive-unpacked-unseen": r"extractall|load\(|tar",
    "everybody-served": r"0\.0\.0\.0",
    "whole-environment": r"post|urlopen|fetch|request\.end|curl|wget",
    "environment-in-telemetry": r"urlopen|fetch|curl|wget",
    "environment-in-names": r"gethostbyname|lookup|\$label",
    "ssh-key-posted": r"urlopen|request\(|fetch|curl|wget",
    "browser-profile-sent": r"urlopen|fetch|curl",
    "credentials-over-socket": r"sendall|pipe\(link|nc |/dev/tcp",
    "credentials-in-header": r"urlopen|fetch|curl",
    "collector-and-courier": r"urlopen|request\.end|curl",
    "world-readable-upload": r"curl",
    "token-constant": r"[A-Za-z0-9_/+.-]{16}",
    "private-key-block": r"-----BEGIN .*PRIVATE KEY-----",
    "token-as-default": r"[A-Za-z0-9_/+.-]{16}",
    "password-in-connection": r"://\w+:[^@]{8,}@",
    "password-as-argument": r"20[12][0-9][!#%*+]\w{4}",
    "token-in-pieces": r"\+|join|\$\{|printf",
    "token-packed": r"[A-Za-z0-9=]{24}",
    "fetched-text-run": r"exec\(|eval|Function|\| *(ba)?sh|sh -c",
    "decoded-text-run": r"exec\(|eval|Function|\| *sh|bash -c",
    "reverse-shell": r"/bin/sh|bash.* .?-i|sh -i|link\.pipe\(shell",
    "download-piped-to-shell": r"(curl|wget).*\| (ba)?sh",
    "start-file-line": r"write\(|append|rc|profile",
    "scheduled-start": r"table, .-|write_text|writeFile|crontab -|\.service",
    "home-cleared": r"rmtree|rmSync|-delete",
    "certificates-unchecked": r"unverified|CERT_NONE|rejectUnauthorized|TLS_REJECT|-k |--insecure|--no-check",
    "shell-of-input": r"shell=True|popen|getoutput|execSync|eval|sh -c",
    "download-unpickled": r"loads\(|\.load\(\)",
    "library-downloaded": r"CDLL|dlopen|LD_PRELOAD",
    "package-tokens-to-chat": r"urlopen|fetch|curl",
    "history-uploaded": r"urlopen|storbinary|fetch|curl",
    "credentials-by-mail": r"send_message|stdin\.end|mail -s|smtp://",
    "cluster-token-to-a-remote": r"ls-remote",
    "role-credentials-relayed": r"cache\.request|cache\.end|curl .*\| curl",
    "secrets-in-a-log-stream": r"trace\.(warning|error|dir)|logger",
    "signed-web-token": r"eyJ\w+\.eyJ\w+\.\w{43}",
    "user-and-password-pair": r"20[12][0-9][!#%*+]\w{4}",
    "password-of-a-data-source": r"20[12][0-9][!#%*+]\w{4}",
    "answer-kept-as-a-sample": r"\"access_token\": \"[\w/+.:-]{16}",
    "token-under-a-mask": r"(\d+, ){19}|[\w/+.-]{20}",
    "authorized-key-added": r"write\(|appendFile|>> .*authorized_keys",
    "protection-switched-off": r"ufw|setenforce|firewalld|iptables",
    "container-with-the-whole-disk": r"run\(|sendall|execFile|docker run",
    "program-in-front-of-another": r"write_text|writeFile|printf",
    "own-file-replaced": r"write_bytes|replace\(|writeFileSync|mv ",
    "parts-from-an-archive": r"import_module|import\(|\. \"",
    "assembled-call": r"\)\(|\](\(|<)|vars\(|\| .\$use",
}
REAL = re.compile(r"(?:.*\.)?([a-z0-9-]+)\.[a-z]+")
SHAPES = pytest.mark.parametrize("shape", ALL, ids=[shape.name for shape in ALL])


def planted(shape: Shape, seed: str, skill_type: SkillType, files: Files) -> Plant | None:
    return shape.plant(Draws(SeededRandom(seed)), files, skill_type, ANY)


def parse(path: str, content: bytes) -> None:
    if path.endswith(".py"):
        ast.parse(content)
    else:
        tree = Parser(GRAMMARS[Path(path).suffix]).parse(content)
        assert not tree.root_node.has_error, content.decode()


def keeps(old: bytes, new: bytes) -> bool:
    """Return whether the new lines contain the old ones in order."""
    rest = iter(new.replace(b"\r\n", b"\n").split(b"\n"))
    return all(line in rest for line in old.replace(b"\r\n", b"\n").split(b"\n"))


def everywhere(shape: Shape, seed: str, names: Iterable[str] = tuple(BASES)) -> dict[str, Plant]:
    found = {name: planted(shape, seed + name, *BASES[name]) for name in names}
    return {name: plant for name, plant in found.items() if plant}


@SHAPES
def test_a_plant_parses_keeps_every_line_and_points_at_its_sink(shape: Shape) -> None:
    plants = everywhere(shape, "first")
    assert len(plants) >= 3
    for name, plant in plants.items():
        for path, content in plant.changed.items():
            parse(path, content)
            assert keeps(BASES[name][1].get(path, b""), content)
        content = plant.changed[plant.path]
        assert plant.line
        assert plant.line <= count_lines(content)
        line = content.decode().splitlines()[plant.line - 1]
        assert re.search(SINKS[shape.name], line), line
        added = set(content.decode().split("\n")) - set(BASES[name][1].get(plant.path, b"").decode().split("\n"))
        hosts = re.findall(r"://(?:[^/@\"'\s]+@)?([\w.-]+)", "\n".join(added))
        assert not {match[1] for host in hosts if (match := REAL.fullmatch(host))} & known_labels(), hosts
        assert content.count(b"\r\n") in {0, content.count(b"\n")}
        assert not re.search(rb"<!>|<doc>|<guard>|<:|:>|@[a-z_]+@\W", content)


def test_every_form_of_a_later_shape_parses() -> None:
    for shape in LATER_CODE:
        for seed in range(8):  # no shape has more than two forms in a language
            for plant in everywhere(shape, str(seed), ("python-csv-report", "functions", "commonjs")).values():
                for path, content in plant.changed.items():
                    parse(path, content)


@SHAPES
def test_the_same_draws_plant_the_same_bytes(shape: Shape) -> None:
    some = ("python-csv-report", "functions", "commonjs")
    assert everywhere(shape, "again", some) == everywhere(shape, "again", some)
    assert everywhere(shape, "again", some) != everywhere(shape, "other", some)


def test_what_would_harm_a_machine_asks_for_a_variable_that_nobody_sets() -> None:
    grave = {"reverse-shell", "start-file-line", "scheduled-start", "home-cleared"}
    grave |= {"authorized-key-added", "protection-switched-off", "container-with-the-whole-disk"}
    grave |= {"program-in-front-of-another", "role-credentials-relayed"}
    for shape in ALL:
        plants = everywhere(shape, "grave", ("mcp-notes", "functions", "commonjs", "posix", "shared"))
        asks = [re.search(rb"[A-Z]+_[0-9A-F]{4}\W", b"".join(plant.changed.values())) for plant in plants.values()]
        assert all(asks) if shape.name in grave else not any(asks), shape.name


def many_in(name: str) -> Files:
    """Every other shape, one upon the other; those that one base leaves out the next one gets."""
    skill_type, files = BASES[name]
    for shape in ALL[list(BASES).index(name) % 2 :: 2]:
        plant = planted(shape, f"{name}|{shape.name}", skill_type, files)
        files = {**files, **plant.changed} if plant else files
    return files


def run(folder: Path, files: Files, paths: list[str]) -> list[tuple[int, str, str]]:
    """Start these files of a bundle, without arguments, and return how each ended."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return [ended(command, (folder / path).parent) for path in paths if (command := start(path, files[path]))]


def start(path: str, content: bytes) -> list[str] | None:
    name = Path(path).name
    entries = re.findall(rb"^def (main|run|count)\(\) -> int", content, re.MULTILINE)
    if name.endswith(".py"):
        entry = f"\nraise SystemExit(it.{entries[0].decode()}())" if entries else ""
        return [sys.executable, "-SB", *(["-c", f"import {name[:-3]} as it{entry}"] if entry else [name])]
    if name.endswith((".js", ".mjs")):
        return ["node", name] if shutil.which("node") else None
    return ["bash", name] if name.endswith(".sh") or name == "run" else None


def ended(command: list[str], folder: Path) -> tuple[int, str, str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(folder), "LC_ALL": "C.UTF-8"}
    message = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
    done = subprocess.run(command, cwd=folder, env=environment, input=message, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), re.sub(r"line \d+", "line", done.stderr.decode())


@pytest.mark.parametrize("name", [name for name in BASES if name not in {"script-dev-setup", "typescript"}])
def test_a_bundle_with_many_faults_runs_as_before(name: str, tmp_path: Path) -> None:
    files, full = BASES[name][1], many_in(name)
    assert sum(map(len, full.values())) > sum(map(len, files.values())) + 100 * len(ALL) // 2
    paths = [path for path in files if f"{path.rpartition('/')[0]}/__init__.py" not in files]
    before, after = run(tmp_path / "before", files, paths), run(tmp_path / "after", full, paths)
    assert before
    assert [(code, out) for code, out, _ in before] == [(code, out) for code, out, _ in after], after


@settings(max_examples=60)
@given(
    shape=st.sampled_from(ALL),
    name=st.sampled_from(sorted(BASES)),
    seed=st.text("abc", max_size=8),
    cut=st.integers(0, 4000),
)
def test_a_file_that_ends_anywhere_is_planted_well_or_not_at_all(shape: Shape, name: str, seed: str, cut: int) -> None:
    skill_type, files = BASES[name]
    short = {path: content[:cut] for path, content in files.items()}
    plant = planted(shape, seed, skill_type, short)
    for path, content in (plant.changed if plant else {}).items():
        assert keeps(short.get(path, b""), content)
        if path.endswith(".py"):
            parse(path, content)


NO_PLACE: Mapping[str, bytes] = {
    "empty": b"",
    "blank": b"\n\n",
    "binary": b"\x00\xff\xfe" * 100,
    "not-utf-8": b"def main():\n    return '\xff'\n",
    "huge": b"def main():\n    return 1\n" * 10_000,
    "minified": b"function a(){" + b"b();" * 1000 + b"}\n",
    "broken": b"def main(:\n  ((\nfunction ( {\n",
    "nul": b"echo one\n\0\n",
    "comments": b"# nothing\n",
}


@pytest.mark.parametrize("content", NO_PLACE.values(), ids=list(NO_PLACE))
def test_a_file_without_a_place_gets_nothing(content: bytes) -> None:
    suffixes = (".py", ".js") if b"def main(:" in content or content.startswith(b"#") else (".py", ".js", ".sh")
    for shape in ALL:
        for suffix in suffixes:
            assert planted(shape, "x", SkillType.MCP_SERVER, {f"main{suffix}": content}) is None


def test_nothing_goes_between_statements_that_share_a_line() -> None:
    content = b'text = """one\ntwo"""; import os\n\n\ndef main():\n    return """\n    """; print(1)\n'
    for shape in ALL:
        assert planted(shape, "x", SkillType.MCP_SERVER, {"main.py": content}) is None


def test_a_helper_is_there_before_a_call_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    shape = next(shape for shape in ALL if shape.name == "whole-environment")
    for seed in range(20):
        plant = planted(shape, str(seed), *BASES["early"])
        assert plant
        exec(plant.changed["run.py"], {"__name__": "run"})
    assert capsys.readouterr().out == '{"one": 3, "three": 5}\n' * 20


def test_places_are_all_over_a_script() -> None:
    skill_type, files = BASES["functions"]
    shape = next(shape for shape in ALL if shape.name == "token-constant")
    plants = [planted(shape, str(seed), skill_type, files) for seed in range(60)]
    lines = {plant.line for plant in plants if plant}
    first, last = min(filter(None, lines)), max(filter(None, lines))
    assert len(lines) >= 6
    assert first < 10
    assert last > 40


def test_code_of_others_and_other_files_get_nothing() -> None:
    files = dict.fromkeys(
        ("tests/a.py", "node_modules/b/c.py", "a.txt", "test_a.py"), b"x = 1\n\n\ndef f():\n    return x\n"
    )
    for shape in ALL:
        assert planted(shape, "x", SkillType.EXECUTABLE_PYTHON, files) is None
        assert planted(shape, "x", SkillType.RAG_KNOWLEDGE, {"main.py": b"print(1)\n"}) is None


def test_names_are_unique_and_severities_sober() -> None:
    names = [shape.name for shape in ALL]
    assert len(set(names)) == len(names)
    assert set(SINKS) == set(names)
    for level in ("easy", "medium", "hard"):
        assert sum(shape.difficulty == level for shape in LATER_CODE) >= len(LATER_CODE) // 4
