"""The private folder of a run, made and deleted here, and the names that its places have in traces."""

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tracer.records import Record

SKILL = "/skill"
HOME = "/home/skill"
# Their values are the same everywhere: a trace that quotes one is the same at every miner.
DECOYS = {
    name: "decoy-" + name.lower().replace("_", "-")
    for name in ("AWS_SECRET_ACCESS_KEY", "API_TOKEN", "GITHUB_TOKEN", "OPENAI_API_KEY", "SSSA_DECOY_SECRET")
}
_RANDOM_NAME = re.compile(r"/tmp/tmp[.A-Za-z0-9_]{6,}")  # noqa: S108 - the skill's own, see `Folder`


class Folder:
    """A private folder with the bundle in it: `skill/`, `tmp/`, `home/`. A context manager; leaving it deletes it.

    In records the bundle is `/skill`, its temporary folder `/tmp` (random names there `/tmp/*`), its home
    `/home/skill`, and today's date `*`: two runs of one bundle give the same signatures.

    Args:
        files: the bundle's files by relative path, names already checked by `read_bundle`.
        extra: files next to the bundle, by name.
    """

    def __init__(self, files: Mapping[str, bytes], extra: Mapping[str, bytes] | None = None) -> None:
        self.base = Path(os.path.realpath(tempfile.mkdtemp(prefix="sssa-run-")))
        self.skill = self.base / "skill"
        self.tmp = self.base / "tmp"
        self.home = self.base / "home"
        self._date = _dates_around(datetime.now(UTC))
        # Two runs differ in their time of day, as two machines do: a name with one in it belongs to no run.
        self._zone = f"LOCAL{secrets.choice('+-')}{secrets.randbelow(12)}:{secrets.randbelow(60):02}"
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
            "PYTHONHASHSEED": "0",  # a set has one order
            "PYTHONDONTWRITEBYTECODE": "1",
            "TZ": self._zone,
            "RES_OPTIONS": "timeout:1 attempts:1",  # a name that is looked up must not eat the run's time
            **DECOYS,
        }

    def public(self, text: str) -> str:
        """Return `text` with this folder's places under the names they have in traces."""
        for place, name in ((self.skill, SKILL), (self.tmp, "/tmp"), (self.home, HOME)):  # noqa: S108 - a name only
            text = text.replace(str(place), name)
        return self._date.sub("*", _RANDOM_NAME.sub("/tmp/*", text))  # noqa: S108 - a name only

    def public_record(self, fields: Mapping[str, Any]) -> Record:
        """Return the record with every text made public."""
        return {key: self.public(value) if isinstance(value, str) else value for key, value in fields.items()}


def _dates_around(now: datetime) -> re.Pattern[str]:
    """Return what finds the dates of the days around `now`, and its time in seconds as far as the hours."""
    days = [now + timedelta(days=number) for number in (-1, 0, 1)]
    forms = [day.strftime(form) for day in days for form in ("%Y-%m-%d", "%Y%m%d", "%Y_%m_%d", "%Y/%m/%d", "%Y.%m.%d")]
    seconds = sorted({str(int(day.timestamp()))[:5] for day in days})
    return re.compile(f"{'|'.join(map(re.escape, forms))}|(?<![0-9])(?:{'|'.join(seconds)})[0-9]{{5}}(?![0-9])")
