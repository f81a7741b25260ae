"""Contents of the runtime image, read from its Dockerfile."""

import re

from package_files import ROOT

DOCKERFILE = (ROOT / "runner" / "Dockerfile").read_text()


def test_it_takes_the_runner_and_its_lock_and_nothing_else_of_the_project() -> None:
    copied = [line.split()[1] for line in DOCKERFILE.splitlines() if re.match(r"COPY (?!--from)", line)]
    assert copied == ["requirements/runner.txt", "runner/code_runner/", "runner/tracer/"]
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for path in copied:
        assert (ROOT / path).exists()
        assert path.split("/")[0] in allowed


def test_it_has_pytest_and_the_linter_by_hash() -> None:
    assert "pip install --no-cache-dir --no-compile --require-hashes --target /image/runner" in DOCKERFILE
    pinned = (ROOT / "requirements" / "runner.txt").read_text()
    ours = (ROOT / "requirements" / "dev.txt").read_text()
    names = re.findall(r"^([a-z]+==\S+)", pinned, re.MULTILINE)
    assert {name.partition("==")[0] for name in names} >= {"pytest", "ruff"}
    assert all(re.search(rf"^{re.escape(name)} ", ours, re.MULTILINE) for name in names)


def test_it_runs_as_nobody_and_imports_nothing_of_the_validator() -> None:
    assert "USER 65534:65534" in DOCKERFILE
    sources = [file.read_text() for file in (ROOT / "runner").rglob("*.py")]
    assert len(sources) > 5
    forbidden = r"^\s*(from|import) (validator|miner|localnet|msgspec)"
    assert not [text for text in sources if re.search(forbidden, text, re.MULTILINE)]
