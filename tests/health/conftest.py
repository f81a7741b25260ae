from pathlib import Path

import pytest
from doctor_kit import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """The operator's folder of a registered validator, with nothing wrong but that it has no tasks."""
    return Place.made(tmp_path)
