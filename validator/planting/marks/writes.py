"""Statements that touch the file of an execution mark, by the place of the file and by language (SPEC 15).

`@file_name@` is an expression for its name; in shell, a word without its quotes. No script runs `touch`: the runtime
image lets nobody set the time of a file, and a script may end there.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from validator.planting.shapes.code.words import Language


class Write(NamedTuple):
    """One way to touch a file: statements, and what they import (as of `Fault`)."""

    text: str
    imports: tuple[str, ...] = ()


class Place(NamedTuple):
    """A folder that a run may write to, as traces name it, and ways to touch a file there."""

    folder: str
    writes: Mapping[Language, tuple[Write, ...]]


CURRENT: Final = Place(
    "/skill",
    {
        "python": (
            Write('pathlib.Path(@file_name@).write_text("@note@\\n", encoding="utf-8")', ("pathlib",)),
            Write('with open(@file_name@, "a", encoding="utf-8") as @stream@:\n    @stream@.write("@note@\\n")'),
            Write('open(@file_name@, "wb").close()'),
        ),
        "javascript": (
            Write('fs.writeFileSync(@file_name@, "@note@\\n");', ("fs fs",)),
            Write('fs.appendFileSync("./" + @file_name@, "@note@\\n");', ("fs fs",)),
        ),
        "shell": (
            Write('echo "@note@" > "@file_name@"'),
            Write('printf "%s\\n" "@note@" >> "@file_name@"'),
            Write(': >> "@file_name@"'),
        ),
    },
)
_TEMPORARY: Final = Place(
    "/tmp",  # noqa: S108 - a name in traces
    {
        "python": (
            Write(
                "@file@ = os.path.join(tempfile.gettempdir(), @file_name@)\n"
                'with open(@file@, "w", encoding="utf-8") as @stream@:\n    @stream@.write("@note@\\n")',
                ("os", "tempfile"),
            ),
            Write("(pathlib.Path(tempfile.gettempdir()) / (@file_name@)).touch()", ("pathlib", "tempfile")),
        ),
        "javascript": (
            Write(
                'const @file@ = path.join(os.tmpdir(), @file_name@);\nfs.writeFileSync(@file@, "@note@\\n");',
                ("fs fs", "os os", "path path"),
            ),
            Write('fs.closeSync(fs.openSync(os.tmpdir() + "/" + @file_name@, "a"));', ("fs fs", "os os")),
        ),
        "shell": (
            Write('@file@="${TMPDIR:-/tmp}/@file_name@"\necho "@note@" > "$@file@"'),
            Write('@file@=@file_name@\n: > "${TMPDIR:-/tmp}/$@file@"'),
        ),
    },
)
_HOME: Final = Place(
    "/home/skill",
    {
        "python": (
            Write("pathlib.Path.home().joinpath(@file_name@).touch()", ("pathlib",)),
            Write('open(os.path.join(os.path.expanduser("~"), @file_name@), "a").close()', ("os",)),
        ),
        "javascript": (
            Write(
                'fs.writeFileSync(path.join(os.homedir(), @file_name@), "@note@\\n");', ("fs fs", "os os", "path path")
            ),
        ),
        "shell": (Write('printf "%s\\n" @note@ > "$HOME/@file_name@"'), Write('echo "@note@" >> ~/"@file_name@"')),
    },
)
PLACES: Final = (CURRENT, _TEMPORARY, _HOME)

FILE_NAMES: Final[Mapping[Language, tuple[str, ...]]] = {
    "python": (
        'f"@before@{@key@()}@after@"',
        '"@before@" + @key@() + "@after@"',
        '"@before@%s@after@" % @key@()',
        '"@before@{}@after@".format(@key@())',
    ),
    "javascript": (
        "`@before@${@key@()}@after@`",
        '"@before@" + @key@() + "@after@"',
        '["@before@", @key@(), "@after@"].join("")',
    ),
    "shell": ("@before@$(@key@)@after@",),
}
"""Expressions for a name: what the computation gives, between two drawn texts."""

FUNCTIONS: Final[Mapping[Language, tuple[str, str, str]]] = {
    "python": ("def @keep@()<: -> None:>:\n", "", "@keep@()"),
    "javascript": ("function @keep@() {\n", "\n}", "@keep@();"),
    "shell": ("@keep@() {\n", "\n}", "@keep@"),
}
"""How a function of statements begins, ends, and is called."""
