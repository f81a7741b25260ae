import pytest
from analysis_kit import PYTHON, without_code

from miner.scanners.osv import Pinned, shipped_for
from sssa.protocol.findings import risk_of


def ids_of(package: str, version: str) -> set[str]:
    pin = Pinned("PyPI", package, version, "")
    return {advisory.id for advisory in shipped_for([pin]).get(pin, ())}


@pytest.mark.parametrize(
    ("package", "version", "affected", "cve"),
    [
        ("requests", "2.19.1", True, "CVE-2018-18074"),
        ("requests", "2.20.0", False, "CVE-2018-18074"),
        ("requests", "2.2.1", False, "CVE-2023-32681"),
        ("requests", "2.30.0", True, "CVE-2023-32681"),
        ("requests", "2.31.0", False, "CVE-2023-32681"),
        ("urllib3", "1.26.16", True, "CVE-2023-43804"),
        ("urllib3", "1.26.17", False, "CVE-2023-43804"),
        ("urllib3", "2.0.5", True, "CVE-2023-43804"),
        ("urllib3", "2.0.6", False, "CVE-2023-43804"),
        ("PyYAML", "5.3", True, "CVE-2020-1747"),
        ("pyyaml", "5.3.1", False, "CVE-2020-1747"),
        ("pyyaml", "5.3.1", True, "CVE-2020-14343"),
        ("pyyaml", "5.4", False, "CVE-2020-14343"),
        ("Jinja2", "2.10", True, "CVE-2019-10906"),
        ("jinja2", "2.10.1", False, "CVE-2019-10906"),
        ("flask", "2.2.4", True, "CVE-2023-30861"),
        ("flask", "2.2.5", False, "CVE-2023-30861"),
        ("flask", "2.3.1", True, "CVE-2023-30861"),
        ("django", "3.2.12", True, "CVE-2022-28346"),
        ("django", "3.2.13", False, "CVE-2022-28346"),
        ("django", "4.0.3", True, "CVE-2022-28346"),
        ("Pillow", "8.4.0", True, "CVE-2022-22817"),
        ("pillow", "10.1.0", True, "CVE-2023-50447"),
        ("pillow", "10.2.0", False, "CVE-2023-50447"),
        ("cryptography", "3.0", False, "CVE-2023-49083"),
        ("cryptography", "41.0.5", True, "CVE-2023-49083"),
        ("aiohttp", "3.9.1", True, "CVE-2024-23334"),
        ("aiohttp", "3.9.2", False, "CVE-2024-23334"),
        ("certifi", "2022.6.15", True, "CVE-2022-23491"),
        ("certifi", "2022.12.07", False, "CVE-2022-23491"),
        ("setuptools", "65.5.0", True, "CVE-2022-40897"),
        ("setuptools", "65.5.1", False, "CVE-2022-40897"),
        ("sqlparse", "0.4.1", True, "CVE-2021-32839"),
        ("sqlparse", "0.3.1", False, "CVE-2021-32839"),
        ("pip", "23.2.1", True, "CVE-2023-5752"),
        ("twisted", "22.1.0", False, "CVE-2022-21712"),
    ],
)
def test_ranges(package: str, version: str, affected: bool, cve: str) -> None:
    assert (cve in ids_of(package, version)) is affected


@pytest.mark.parametrize("version", ["", "latest", "1..2", "2.19.1; rm", "x" * 10_000])
def test_what_is_no_version_has_no_advisories(version: str) -> None:
    assert ids_of("requests", version) == set()


FILES = {
    "requirements.txt": (
        "# pins\nRequests[socks] == 2.19.1 ; python_version > '3' # old\n--hash=sha256:x\n-r other.txt\nflask>=2\n"
    ),
    "requirements-dev.in": "jinja2===2.10\n",
    "pyproject.toml": (
        '[project]\nname = "x"\ndependencies = ["pyyaml==5.3", "urllib3>=1"]\n'
        '[project.optional-dependencies]\nx = ["idna==3.6"]\n'
        '[tool.poetry.dependencies]\npython = "^3.11"\ntornado = "6.3.1"\n'
    ),
    "setup.cfg": "[options]\ninstall_requires =\n    lxml==4.6.4\n    rsa\n",
    "thing.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: Django\nVersion: 3.2.12\n"
        "Requires-Dist: sqlparse==0.4.1\nRequires-Dist: asgiref>=3\n\nName: no\n"
    ),
}


def test_pins_are_read_wherever_they_stand() -> None:
    analysis = without_code({name: text.encode() for name, text in FILES.items()}, PYTHON)
    known = {(d.package, d.version) for d in analysis.dependencies}
    assert known == {
        ("requests", "2.19.1"),
        ("jinja2", "2.10"),
        ("pyyaml", "5.3"),
        ("idna", "3.6"),
        ("tornado", "6.3.1"),
        ("lxml", "4.6.4"),
        ("django", "3.2.12"),
        ("sqlparse", "0.4.1"),
    }
    by_name = {d.package: d.cves for d in analysis.dependencies}
    assert "CVE-2018-18074" in by_name["requests"]
    pinned = [f for f in analysis.findings if f.category == "dependency_cve"]
    assert len({(f.target_pattern, f.cve_ids) for f in pinned}) == len(pinned)
    assert all(1 <= len(f.cve_ids) <= 4 for f in pinned)  # aliases of one vulnerability
    places = {cve: f.evidence_ref for f in pinned for cve in f.cve_ids}
    assert places["CVE-2018-18074"] == "requirements.txt#L2-L2"
    assert places["CVE-2020-1747"] == "pyproject.toml#L3-L3"
    assert places["CVE-2023-28370"] == "pyproject.toml#L8-L8"
    assert places["CVE-2022-28346"] == "thing.dist-info/METADATA#L3-L3"
    assert places["CVE-2021-32839"] == "thing.dist-info/METADATA#L4-L4"
    targets = {f.target_pattern for f in pinned}
    assert "pkg:pypi/requests@2.19.1" in targets
    assert "flask is not pinned: another version may be installed than was looked at." in {
        f.description for f in analysis.findings
    }


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content", [b"\xff\x00", b"[" * 5_000, b"==1\n" * 100, b"a==" + b"9" * 5_000, b"a @ file:///x", b"a==1.*"]
)
def test_files_that_are_none_are_borne(name: str, content: bytes) -> None:
    assert without_code({name: content}, PYTHON).dependencies == ()


LOCKS = {
    "poetry.lock": '[[package]]\nname = "attrs"\nversion = "25.3.0"\n\n[[package]]\nname = "Mcp"\nversion = "1.9.3"\n',
    "uv.lock": 'version = 1\n\n[[package]]\nname = "mcp"\nversion = "1.9.3"\nsource = { registry = "x" }\n',
    "Pipfile.lock": '{"_meta": {}, "default": {\n"mcp": {"version": "==1.9.3"}}, "develop": {}}',
    "constraints.txt": "attrs==25.3.0\nmcp==1.9.3\n",
    "requirements/base.txt": "mcp==1.9.3 --hash=sha256:00\n",
    "dev-requirements.txt": "\nmcp==1.9.3\n",
}


@pytest.mark.parametrize("name", LOCKS)
def test_locks_are_read_with_the_lines_of_their_pins(name: str) -> None:
    analysis = without_code({name: LOCKS[name].encode()}, PYTHON)
    findings = [f for f in analysis.findings if f.category == "dependency_cve"]
    assert {f.cve_ids for f in findings} == {("CVE-2025-53365",), ("CVE-2025-53366",), ("CVE-2025-66416",)}
    line = int(findings[0].evidence_ref.rpartition("-L")[2])
    assert "1.9.3" in LOCKS[name].split("\n")[line - 1]
    assert findings[0].severity == "high"
    assert analysis.risk_score == risk_of(findings[:1])  # of the holes of one package the gravest counts


PINS = {
    "requirements.txt": "\ufeffjinja2==2.10\nflask==2.2.4\t# old\nrequests==2.19.1#x\n",
    "pyproject.toml": """
[dependency-groups]
dev = ["jinja2==2.10", {include-group = "x"}]
[tool.poetry.dependencies]
flask = {version = "2.2.4", extras = ["async"]}
[tool.poetry.group.test.dependencies]
requests = "2.19.1"
""",
    "run.py": """# /// script
# dependencies = [
#   'jinja2==2.10', 'flask==2.2.4', 'requests==2.19.1']
# ///
x = 1
""",
    "Pipfile": """
[packages]
jinja2 = "==2.10"
[dev-packages]
flask = {version = "==2.2.4"}
requests = "==2.19.1"
""",
    "environment.yml": """
dependencies:
  - jinja2=2.10=py_0
  - conda-forge::flask==2.2.4
  - pip:
    - requests==2.19.1
""",
    "bom.json": """{"bomFormat": "CycloneDX", "components": [
{"purl": "pkg:pypi/jinja2@2.10"}, {"purl": "pkg:pypi/Flask@2.2.4?x=y"}, {"purl": "pkg:pypi/requests@2.19.1"}]}""",
    "a.spdx.json": '{"externalRefs": ["pkg:pypi/jinja2@2.10", "pkg:pypi/flask@2.2.4", "pkg:pypi/requests@2.19.1"]}',
}


@pytest.mark.parametrize("name", PINS)
def test_pins_are_read_in_every_form(name: str) -> None:
    pinned = without_code({name: PINS[name].encode()}, PYTHON).dependencies
    assert {(d.package, d.version) for d in pinned} == {("jinja2", "2.10"), ("flask", "2.2.4"), ("requests", "2.19.1")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uv.lock", '[[package]]\nname = "jinja2"\nversion = "2.10"\nsource = { editable = "." }\n'),
        ("uv.lock", '[[package]]\nname = "jinja2"\nversion = "2.10"\nsource = { git = "https://a.test/x" }\n'),
        ("poetry.lock", '[[package]]\nname = "jinja2"\nversion = "2.10"\n\n[package.source]\ntype = "directory"\n'),
        ("pyproject.toml", '[project]\ndependencies = ["jinja2==2.10"]\n[tool.uv.sources]\njinja2 = {path = "x"}\n'),
    ],
)
def test_a_package_of_a_folder_or_of_git_is_not_the_one_of_the_registry(name: str, text: str) -> None:
    assert without_code({name: text.encode()}, PYTHON).dependencies == ()
