"""The private folder of a run, and the names that its places have in traces."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from localnet.tracing.records import Record

SKILL = "/skill"
HOME = "/home/skill"
# Their values are the same everywhere: a trace that quotes one is the same at every miner.
DECOYS = {
    name: "decoy-" + name.lower().replace("_", "-")
    for name in ("AWS_SECRET_ACCESS_KEY", "API_TOKEN", "GITHUB_TOKEN", "OPENAI_API_KEY", "SSSA_DECOY_SECRET")
}
_RANDOM_NAME = re.compile(r"/tmp/tmp[.A-Za-z0-9_]{6,}")  # noqa: S108 - the skill's own, see `Folder`
_MAX_CHANGES = 1_000


class FileState(NamedTuple):
    """Enough of a file's state to see that it was written."""

    size: int
    changed_ns: int


class Folder:
    """A private folder with the bundle in it: `skill/`, `tmp/`, `home/`. A context manager; leaving it deletes it.

    In records the bundle is `/skill`, its temporary folder `/tmp` (random names there `/tmp/*`), its home
    `/home/skill`: two runs of one bundle give the same signatures.

    Args:
        files: the bundle's files by relative path, names already checked by `read_bundle`.
        extra: files beside the bundle, by name.
    """

    def __init__(self, files: Mapping[str, bytes], extra: Mapping[str, bytes] | None = None) -> None:
        self.base = Path(os.path.realpath(tempfile.mkdtemp(prefix="sssa-run-")))
        self.skill = self.base / "skill"
        self.tmp = self.base / "tmp"
        self.home = self.base / "home"
        for folder in (self.skill, self.tmp, self.home):
            folder.mkdir()
        for name, content in files.items():
            path = self.skill / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for name, content in (extra or {}).items():
            (self.base / name).write_bytes(content)

    def __enter__(self) -> Self:
        """Return the folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete everything."""
        self.remove()

    def remove(self) -> None:
        """Delete the folder and everything in it."""
        shutil.rmtree(self.base, ignore_errors=True)

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a run: nothing of the caller's, and the decoys."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "LC_ALL": "C.UTF-8",
            "RES_OPTIONS": "timeout:1 attempts:1",  # a name that is looked up must not eat the run's time
            **DECOYS,
        }

    def public(self, text: str) -> str:
        """Return `text` with this folder's places under the names they have in traces."""
        for place, name in ((self.skill, SKILL), (self.tmp, "/tmp"), (self.home, HOME)):  # noqa: S108 - a name only
            text = text.replace(str(place), name)
        return _RANDOM_NAME.sub("/tmp/*", text)  # noqa: S108 - a name only

    def public_record(self, fields: Mapping[str, Any]) -> Record:
        """Return the record with every text made public."""
        return {key: self.public(value) if isinstance(value, str) else value for key, value in fields.items()}

    def state(self) -> dict[str, FileState]:
        """Return the state of every file in the bundle's folder."""
        found: dict[str, FileState] = {}
        for folder, _, names in os.walk(self.skill):
            for name in names:
                path = Path(folder, name)
                info = path.lstat()
                found[str(path)] = FileState(info.st_size, info.st_mtime_ns)
        return found

    def changes(self, before: Mapping[str, FileState]) -> list[tuple[str, str]]:
        """Return (op, path) of what was written or deleted in the bundle's folder since it was as in `before`."""
        after = self.state()
        written = [("write", path) for path in after if after[path] != before.get(path)]
        deleted = [("delete", path) for path in before if path not in after]
        return [(op, self.public(path)) for op, path in sorted(written + deleted)[:_MAX_CHANGES]]
