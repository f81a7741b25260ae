"""Names of packages that are elsewhere: on the Python package index, on the npm registry, in a git repository."""

import re
from typing import NamedTuple

from validator.protocol.text import printable
from validator.tasks.source import TaskError

_PYPI = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)(?:==([0-9][0-9A-Za-z.!+_-]{0,63}))?", re.ASCII)
_NPM = re.compile(
    r"((?:@[a-z0-9][a-z0-9._~-]{0,100}/)?[A-Za-z0-9][A-Za-z0-9._~-]{0,200})(?:@([0-9A-Za-z][0-9A-Za-z.+-]{0,127}))?",
    re.ASCII,
)
# Letters that neither git nor a shell below it takes for anything but a part of a name.
_GIT = re.compile(
    r"(https://(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252})(?::[0-9]{1,5})?|ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?"
    r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?|file://)(?P<path>/[A-Za-z0-9._~/%+,=-]{1,1024})"
    r"(?:@(?P<rev>[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}))?"
    r"(?:#subdirectory=(?P<subdirectory>[A-Za-z0-9._ @/+-]{1,512}))?",
    re.ASCII,
)
_FORMS = {
    "pypi:": "pypi:NAME or pypi:NAME==VERSION",
    "npm:": "npm:NAME, npm:@SCOPE/NAME or either with @VERSION",
    "git+": "git+https://HOST/PATH, git+ssh://… or git+file:///PATH, then @REVISION and #subdirectory=FOLDER if wished",
}


class PypiReference(NamedTuple):
    """A distribution on the package index; without a version the newest."""

    name: str
    version: str | None = None


class NpmReference(NamedTuple):
    """A package on the npm registry; `version` may be a tag, without one it is what the tag `latest` names."""

    name: str
    version: str | None = None


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
    if isinstance(reference, GitReference):
        last = (reference.subdirectory or reference.url).rstrip("/").rpartition("/")[2].removesuffix(".git")
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
    if isinstance(reference, GitReference):
        revision = "" if reference.revision is None else f"@{reference.revision}"
        folder = "" if reference.subdirectory is None else f"#subdirectory={reference.subdirectory}"
        return f"git+{reference.url}{revision}{folder}"
    kind, sign = ("pypi", "==") if isinstance(reference, PypiReference) else ("npm", "@")
    return f"{kind}:{reference.name}" + ("" if reference.version is None else f"{sign}{reference.version}")


def _pypi(text: str) -> Reference | None:
    match = _PYPI.fullmatch(text)
    return None if match is None else PypiReference(match[1], match[2])


def _npm(text: str) -> Reference | None:
    match = _NPM.fullmatch(text)
    return None if match is None else NpmReference(match[1], match[2])


def _git(text: str) -> Reference | None:
    match = _GIT.fullmatch(text)
    if match is None:
        return None
    revision, folder = match["rev"], match["subdirectory"]
    parts = folder.strip("/").split("/") if folder else []
    if ".." in (revision or "") or any(part in {"", ".", ".."} for part in parts):
        return None
    return GitReference(match[1] + match["path"], revision, "/".join(parts) or None)


_PARSERS = {"pypi:": _pypi, "npm:": _npm, "git+": _git}
