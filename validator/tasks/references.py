"""Names of packages that are elsewhere: on the Python package index, on the npm registry, in a git repository."""

import re
from typing import NamedTuple

from validator.protocol.text import printable
from validator.tasks.source import TaskError

_FOLDER = r"(?:#subdirectory=(?P<subdirectory>[A-Za-z0-9._ @/+-]{1,512}))?"
_PYPI = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)(?:==([0-9][0-9A-Za-z.!+_-]{0,63}))?" + _FOLDER, re.ASCII
)
_NPM = re.compile(
    r"((?:@[a-z0-9][a-z0-9._~-]{0,100}/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,200})(?:@([0-9A-Za-z][0-9A-Za-z.+-]{0,127}))?"
    + _FOLDER,
    re.ASCII,
)
# Letters that neither git nor a shell below it takes for anything but a part of a name.
_GIT = re.compile(
    r"(https://(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252})(?::[0-9]{1,5})?|ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?"
    r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|file://)(?P<path>/[A-Za-z0-9._~/%+,=-]{1,1024})"
    r"(?:@(?P<rev>[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}))?" + _FOLDER,
    re.ASCII,
)
_FORMS = {
    "pypi:": "pypi:NAME or pypi:NAME==VERSION, then #subdirectory=FOLDER if wished",
    "npm:": "npm:NAME, npm:@SCOPE/NAME or either with @VERSION, then #subdirectory=FOLDER if wished",
    "git+": "git+https://HOST/PATH, git+ssh://… or git+file:///PATH, then @REVISION and #subdirectory=FOLDER if wished",
}


class PypiReference(NamedTuple):
    """A distribution on the package index, or a folder of its wheel; without a version the newest."""

    name: str
    version: str | None = None
    subdirectory: str | None = None


class NpmReference(NamedTuple):
    """A package on the npm registry, or a folder of it; `version` may be a tag, without one the tag is `latest`."""

    name: str
    version: str | None = None
    subdirectory: str | None = None


class GitReference(NamedTuple):
    """A folder of a git repository; `revision` is a branch, a tag or a whole commit, without one the default branch."""

    url: str
    revision: str | None = None
    subdirectory: str | None = None


Reference = PypiReference | NpmReference | GitReference


def parse_reference(text: str) -> Reference | None:
    """Return what the text names elsewhere, None if it has the form of a path or of an installed distribution.

    Raises:
        TaskError: it begins like a name of something elsewhere, and is none; credentials in a url are refused as well.
    """
    form = next((form for prefix, form in _FORMS.items() if text.startswith(prefix)), None)
    if form is None:
        return None
    prefix = form[: form.index(":") + 1] if not text.startswith("git+") else "git+"
    found = _PARSERS[prefix](text.removeprefix(prefix))
    if found is None:
        raise TaskError(f"`{printable(text)}` is not of the form {form}")
    return found


def folder_name(reference: Reference) -> str:
    """Return what a folder for it would be called: no separators, no leading dot or hyphen."""
    if reference.subdirectory:
        last = reference.subdirectory.rpartition("/")[2].removesuffix(".git")
    elif isinstance(reference, GitReference):
        last = reference.url.rstrip("/").rpartition("/")[2].removesuffix(".git")
    else:
        last = reference.name.removeprefix("@").replace("/", "-")
    return re.sub(r"[^A-Za-z0-9._-]", "-", last).lstrip(".-") or "task"


def pinned(reference: Reference, version: str | None, commit: str | None) -> Reference:
    """Return the reference to one version or commit."""
    if isinstance(reference, GitReference):
        return reference._replace(revision=commit)
    return reference._replace(version=version)


def written(reference: Reference) -> str:
    """Return the text that `parse_reference` makes this reference of, where there is one."""
    folder = "" if reference.subdirectory is None else f"#subdirectory={reference.subdirectory}"
    if isinstance(reference, GitReference):
        revision = "" if reference.revision is None else f"@{reference.revision}"
        return f"git+{reference.url}{revision}{folder}"
    kind, sign = ("pypi", "==") if isinstance(reference, PypiReference) else ("npm", "@")
    return f"{kind}:{reference.name}" + ("" if reference.version is None else f"{sign}{reference.version}") + folder


def _pypi(text: str) -> Reference | None:
    match = _PYPI.fullmatch(text)
    if match is None or _leads_out(match["subdirectory"]):
        return None
    return PypiReference(match[1], match[2], _folder(match["subdirectory"]))


def _npm(text: str) -> Reference | None:
    match = _NPM.fullmatch(text)
    if match is None or _leads_out(match["subdirectory"]):
        return None
    return NpmReference(match[1], match[2], _folder(match["subdirectory"]))


def _git(text: str) -> Reference | None:
    match = _GIT.fullmatch(text)
    if match is None or ".." in (match["rev"] or "") or _leads_out(match["subdirectory"]):
        return None
    return GitReference(match[1] + match["path"], match["rev"], _folder(match["subdirectory"]))


def _folder(subdirectory: str | None) -> str | None:
    return (subdirectory or "").strip("/") or None


def _leads_out(subdirectory: str | None) -> bool:
    parts = subdirectory.strip("/").split("/") if subdirectory else []
    return any(part in {"", ".", ".."} for part in parts)


_PARSERS = {"pypi:": _pypi, "npm:": _npm, "git+": _git}
