"""Code that nobody here wrote: distributions that are installed anyway."""

from importlib.metadata import files
from pathlib import Path

import pytest
from analysis_kit import PYTHON, assert_fits_document, manifest

from miner.analysis import analyse


def contents_of(distribution: str) -> dict[str, bytes]:
    listed = [(str(file), Path(file.locate())) for file in files(distribution) or () if ".." not in file.parts]
    found = {name: path.read_bytes() for name, path in listed if path.is_file() and not name.endswith(".pyc")}
    return {**found, "manifest.json": manifest()}


@pytest.mark.parametrize("distribution", ["aiohttp", "rich"])
def test_installed_distributions_are_analysed(distribution: str) -> None:
    bundle = contents_of(distribution)
    analysis = analyse(bundle, PYTHON)
    assert_fits_document(analysis, bundle, PYTHON)
    assert "file_read" in analysis.capabilities
    assert distribution in {dependency.package for dependency in analysis.dependencies}
    # Libraries that half the world runs are worth a look, but no attack.
    assert all(finding.severity != "critical" for finding in analysis.findings)
