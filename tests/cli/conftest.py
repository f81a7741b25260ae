import shutil
from pathlib import Path

import pytest
from cli_store import Example, build_example, write_config


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The example store, for reading."""
    return build_example(tmp_path_factory.mktemp("example"))


@pytest.fixture
def own_example(example: Example, tmp_path: Path) -> Example:
    """A copy of the example store, for changing."""
    database = tmp_path / "own.sqlite"
    for part in example.database.parent.glob("example.sqlite*"):
        if not part.name.endswith(".lock"):
            shutil.copy(part, tmp_path / part.name.replace("example", "own"))
    return Example(write_config(tmp_path, f"sqlite:///{database}"), database)
