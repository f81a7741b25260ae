"""References to packages elsewhere: on the Python package index, on the npm registry, in a git repository."""

import re
from typing import Final, Literal, NamedTuple

from validator.protocol.text import printable
from validator.tasks.source import TaskError

Kind = Literal["pypi:", "npm:", "git+"]
_FOLDER: Final = r"(?:#subdirectory=(?P<subdirectory>[A-Za-z0-9._ @/+-]{1,512}))?"
_PYPI: Final = (
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)(?:==(?P<version>[0-9][0-9A-Za-z.!+_-]{0,63}))?"
)
_NPM: Final = (
    r"(?P<name>(?:@[a-z0-9][a-z0-9._~-]{0,100}/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,200})"
    r"(?:@(?P<version>[0-9A-Za-z][0-9A-Za-z.+-]{0,127}))?"
)
# Letters that neither git nor a shell below it takes for anything but a part of a name.
_GIT: Final = (
    r"(?P<name>(?:https://[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?"
    r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|file://)/[A-Za-z0-9._~/%+,=-]{1,1024})"
    r"(?:@(?P<version>[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}))?"
)


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    sign: str  # between name and version
    shown: str


_FORMS: Final[dict[Kind, _Form]] = {
    "pypi:": _Form(re.compile(_PYPI + _FOLDER, re.ASCII), "==", "pypi:NAME or pypi:NAME==VERSION"),
    "npm:": _Form(re.compile(_NPM + _FOLDER, re.ASCII), "@", "npm:NAME, npm:@SCOPE/NAME or either with @VERSION"),
    "git+": _Form(
        re.compile(_GIT + _FOLDER, re.ASCII),
        "@",
        "git+https://HOST/PATH, git+ssh://… or git+file:///PATH, each with @REVISION if wished",
    ),
}


class Reference(NamedTuple):
    """A package elsewhere, or a folder of it.

    Attributes:
        kind: where: the prefix of the text.
        name: of the distribution or npm package; the url of a repository.
        version: a version; npm: also a tag; git: a branch, a tag or a whole commit. None for the newest.
        subdirectory: None for all of it.
    """

    kind: Kind
    name: str
    version: str | None = None
    subdirectory: str | None = None

    def __str__(self) -> str:
        """Return the text that `parse_reference` reads."""
        version = "" if self.version is None else f"{_FORMS[self.kind].sign}{self.version}"
        folder = "" if self.subdirectory is None else f"#subdirectory={self.subdirectory}"
        return f"{self.kind}{self.name}{version}{folder}"

    @property
    def folder_name(self) -> str:
        """The name of a folder for it: no separators, no leading dot or hyphen."""
        name = self.name.rstrip("/").rpartition("/")[2] if self.kind == "git+" else self.name.removeprefix("@")
        last = self.subdirectory.rpartition("/")[2] if self.subdirectory else name.replace("/", "-")
        return re.sub(r"[^A-Za-z0-9._-]", "-", last.removesuffix(".git")).lstrip(".-") or "task"


def parse_reference(text: str) -> Reference | None:
    """Return the reference that the text is, None if it has the form of a path or of an installed distribution.

    Raises:
        TaskError: it begins like a reference and is none; credentials in a url are refused as well.
    """
    for kind, form in _FORMS.items():
        if not text.startswith(kind):
            continue
        match = form.pattern.fullmatch(text.removeprefix(kind))
        folder = (match and match["subdirectory"]) or ""
        if match is None or ".." in (match["version"] or "") or _leads_out(folder):
            raise TaskError(f"`{printable(text)}` is not of the form {form.shown}, then #subdirectory=FOLDER if wished")
        return Reference(kind, match["name"], match["version"], folder.strip("/") or None)
    return None


def _leads_out(folder: str) -> bool:
    return bool(folder) and any(part in {"", ".", ".."} for part in folder.strip("/").split("/"))
