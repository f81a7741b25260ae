"""Reading one commit of a git repository, without a working tree: no hook, filter, attribute or link takes effect."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from validator.protocol import limits
from validator.protocol.text import printable
from validator.tasks.collecting import Candidate, Collection, unwanted
from validator.tasks.references import GitReference, folder_name
from validator.tasks.source import TaskError
from validator.tasks.tools import Bounds, Tool, run_tool

MAX_READ: Final = 256 * limits.MIB  # bytes of all files that are looked at
_OUTPUT: Final = 64 * limits.MIB  # bytes of the list of files
_INSTEAD: Final = "name a folder or an archive of it"
_LINKS: Final = {"120000": "a link", "160000": "another repository"}
_LFS: Final = b"version https://git-lfs.github.com/spec/"
_LINE: Final = re.compile(rb"([0-9]{6}) (blob|commit) ([0-9a-f]{40,64}) +([0-9]+|-)\t(.+)", re.DOTALL)
# Whatever the user's settings say. The list of protocols overrides every `protocol.*.allow`: `ext::` runs commands.
_SETTINGS: Final = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.askPass="),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "fetch.recurseSubmodules=false", "-c", "submodule.recurse=false"),
    *("-c", "protocol.version=2", "-c", "protocol.ext.allow=never"),
)
_VARIABLES: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "LC_ALL": "C",
}


class _Blob(NamedTuple):
    name: str
    sha: bytes
    size: int


def fetched_commit(reference: GitReference, folder: Path) -> tuple[Collection, str]:
    """Return the files of the commit that the reference names, in memory, and the commit. Blocks.

    Args:
        reference: what to fetch; of its folder alone the files are read.
        folder: an empty folder, which takes the repository.

    Raises:
        TaskError: git is missing, failed or was stopped, the folder is not there, or the files are too much.
    """
    where = "file" if reference.url.startswith("file:") else "https:ssh"
    git = _Git(folder, where)
    git("init", "--quiet", "--bare", "--template=", "repository")
    revision = reference.revision or "HEAD"
    git.at_work("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", reference.url, revision)
    commit = git.at_work("rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}").decode().strip()
    collection = Collection(folder_name(reference))
    blobs = list(_blobs(git, commit, reference.subdirectory, collection))
    if sum(blob.size for blob in blobs) > MAX_READ:
        raise TaskError(f"`{printable(reference.url)}` has more than {MAX_READ} bytes: name a folder (#subdirectory=…)")
    for blob, content in zip(blobs, _contents(git, blobs), strict=True):
        if content.startswith(_LFS):
            collection.leave_out(blob.name, "kept in git LFS")
        else:
            collection.add(Candidate(blob.name, blob.size, partial(bytes, content)))
    return collection, commit


class _Git:
    """Runs git in a folder with nothing of the user's in the way but what is needed to reach and trust a server."""

    def __init__(self, folder: Path, protocols: str) -> None:
        self.folder = folder
        self._tool = Tool("git", _INSTEAD, {**_VARIABLES, "GIT_ALLOW_PROTOCOL": protocols})

    def __call__(self, *arguments: str, given: bytes | None = None, output: int = limits.MIB) -> bytes:
        """Run `git` with the arguments and return what it printed.

        Raises:
            TaskError: see `run_tool`.
        """
        command, bounds = [*_SETTINGS, *arguments], Bounds(output=output)
        if given is None:
            return run_tool(self._tool, command, self.folder, bounds)
        (self.folder / "given").write_bytes(given)
        with (self.folder / "given").open("rb") as stream:
            return run_tool(self._tool, command, self.folder, bounds, stream)

    def at_work(self, *arguments: str, given: bytes | None = None, output: int = limits.MIB) -> bytes:
        """Run `git` on the repository that was made here.

        Raises:
            TaskError: see `run_tool`.
        """
        return self("--git-dir=repository", *arguments, given=given, output=output)


def _blobs(git: _Git, commit: str, subdirectory: str | None, collection: Collection) -> Iterator[_Blob]:
    """Yield the files of a commit, or of one folder of it, that could stand in a bundle; the others are noted."""
    tree = commit if subdirectory is None else f"{commit}:{subdirectory}"
    try:
        listed = git.at_work("ls-tree", "-r", "-l", "-z", "--full-tree", tree, output=_OUTPUT)
    except TaskError as error:
        if subdirectory is None:
            raise
        raise TaskError(f"no folder `{printable(subdirectory)}` in commit {commit}: {error.detail}") from None
    for line in listed.split(b"\0")[:-1]:
        match = _LINE.fullmatch(line)
        if match is None:
            raise TaskError("`git` listed files in a form that is not known")
        mode, name = match[1].decode(), match[5].decode(errors="surrogateescape")
        if mode in _LINKS:
            collection.leave_out(name, _LINKS[mode])
        elif reason := unwanted(name):
            collection.leave_out(name, reason)
        elif int(match[4]) > limits.MAX_BUNDLE_FILE:
            collection.leave_out(name, f"{int(match[4])} bytes, at most {limits.MAX_BUNDLE_FILE} in a file")
        else:
            yield _Blob(name, match[3], int(match[4]))


def _contents(git: _Git, blobs: list[_Blob]) -> Iterator[bytes]:
    """Yield the bytes of the files in order, as they were committed."""
    if not blobs:
        return
    size = sum(blob.size for blob in blobs) + 128 * len(blobs)
    found = git.at_work("cat-file", "--batch", given=b"".join(blob.sha + b"\n" for blob in blobs), output=size)
    start = 0
    for blob in blobs:
        head = b"%b blob %d\n" % (blob.sha, blob.size)
        end = start + len(head) + blob.size
        if found[start : start + len(head)] != head or found[end : end + 1] != b"\n":
            raise TaskError(f"`git` does not give `{printable(blob.name)}`")
        yield found[start + len(head) : end]
        start = end + 1
