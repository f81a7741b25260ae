"""The operator's image as an engine builds it."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from compose_kit import built, changed_context, docker, layers_of, operators_image, tell
from exported_files import files_of
from package_files import ROOT

from validator import __version__

# Not what a build takes, but when one that hangs is given up: two of them, on a machine that is busy with other things.
pytestmark = [pytest.mark.engine, pytest.mark.timeout(3600)]
LISTED = """
import importlib.metadata as m, json, sys
print(json.dumps({d.name: d.version for d in m.distributions() if "/opt/validator/" in str(d._path)}))
"""


@pytest.fixture
def image() -> str:
    return operators_image()


def inside(image: str, *command: str) -> str:
    return docker("run", "--rm", "--network", "none", "--entrypoint", command[0], image, *command[1:])


def test_two_builds_hold_the_same_files(image: str) -> None:
    begun = time.monotonic()
    again = built("sssa-test/validator:2", ROOT, "--no-cache")
    took = time.monotonic() - begun
    one, two = files_of(image), files_of(again)
    assert len(one) > 5_000
    assert {
        name: (one.get(name), two.get(name)) for name in one.keys() | two.keys() if one.get(name) != two.get(name)
    } == {}
    # Packages and our code; in the layer before them the engine gives markers of removed files the time of the build.
    assert layers_of(image)[-2:] == layers_of(again)[-2:]
    tell(f"\nbuilt again in {took:.0f} s: {len(one)} files the same, the layers of packages and of our code too")


@pytest.mark.usefixtures("image")
def test_a_new_line_of_ours_ships_our_layer_alone(tmp_path: Path) -> None:
    before = layers_of(built("sssa-test/validator:before"))  # what this builder's cache holds, whatever was built last
    with changed_context(tmp_path, "validator/__init__.py", "\n# another line\n") as context:
        after = built("sssa-test/validator:3", context)
    after_layers = layers_of(after)
    new = [layer for layer in after_layers if layer not in before]
    assert (len(new), len(before)) == (1, len(after_layers))
    sizes = [int(size) for size in docker("history", "--human=false", "--format", "{{.Size}}", after).split()]
    newest = next(size for size in sizes if size)  # the newest layer that holds anything
    assert newest < 10_000_000
    shipped = f"{len(new)} of {len(after_layers)} layers, {newest / 1e6:.1f} of {sum(sizes) / 1e6:.0f} MB"
    tell(f"\na new line of ours ships {shipped}")


def test_no_pip_and_no_program_but_ours(image: str) -> None:
    programs = inside(image, "ls", "/opt/validator/bin").split()
    assert [name for name in programs if not name.startswith("python")] == ["validator"]
    for word in ("pip", "ensurepip"):
        tried = subprocess.run(
            ["docker", "run", "--rm", "--network", "none", "--entrypoint", "python", image, "-c", f"import {word}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"No module named '{word}'" in tried.stderr


def test_it_lists_what_it_holds(image: str) -> None:
    bom = json.loads(inside(image, "cat", "/opt/validator/sbom.cdx.json"))
    assert bom["bomFormat"] == "CycloneDX"
    assert (bom["metadata"]["component"]["name"], bom["metadata"]["component"]["version"]) == (
        "sssa-validator",
        __version__,
    )
    listed = {part["name"]: part["version"] for part in bom["components"]}
    held = json.loads(inside(image, "python", "-c", LISTED))
    assert held.pop("sssa-validator") == __version__
    assert listed == held
    assert len(held) > 40


def test_it_says_what_it_is_and_runs_as_nobody_special(image: str) -> None:
    config = json.loads(docker("image", "inspect", image))[0]["Config"]
    assert config["Labels"]["org.opencontainers.image.version"] == __version__
    assert config["User"] == "10001:10001"
    assert (
        inside(image, "python", "-c", "import os; print(os.getuid(), os.access('/opt/validator', os.W_OK))")
        == "10001 False\n"
    )


def test_commands_pass_through_the_entry_point(image: str) -> None:
    assert "Usage: validator" in docker("run", "--rm", "--network", "none", image, "--help")
