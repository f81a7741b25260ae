"""The wheel as its page makes and installs it: by hatchling, and by pip into its own environment."""

import subprocess
import sys
from pathlib import Path

from package_files import ROOT

import validator


def test_the_wheel_installs_into_an_empty_environment(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    build = [str(programs / "hatchling"), "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, check=True, cwd=ROOT, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"sssa_validator-{validator.__version__}-py3-none-any.whl"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        str(wheel),
    ]
    subprocess.run(pip, check=True, timeout=120)
    said = subprocess.run(
        [python, "-I", "-c", "import validator; print(validator.__version__, validator.__file__)"],
        check=True,
        capture_output=True,
        text=True,
    )
    version, place = said.stdout.split()
    assert version == validator.__version__
    assert Path(place).is_relative_to(tmp_path)
    assert (tmp_path / "venv" / "bin" / "validator").is_file()
