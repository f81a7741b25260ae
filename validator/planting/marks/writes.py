"""Statements that touch the file of an execution mark, as programs keep a state, and where they may (SPEC 15).

Each reads and writes the file, and makes another next to it: four records with a name that only a run shows, so that a
bundle that does nothing else is still compared. `@file_name@` is an expression for the name; in shell, a word without
its quotes. No script runs `touch`: the runtime image lets nobody set the time of a file, and a script may end there.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from validator.planting.shapes.code.words import Language


class Text(NamedTuple):
    """An expression or statements, and what they import (as of `Fault`)."""

    text: str
    imports: tuple[str, ...] = ()


class Place(NamedTuple):
    """A folder that a run may write to, as traces name it, and expressions for the path of the file there."""

    folder: str
    paths: Mapping[Language, Text]


CURRENT: Final = Place(
    "/skill",
    {
        "python": Text("os.path.abspath(@file_name@)", ("os",)),
        "javascript": Text("path.resolve(@file_name@)", ("path path",)),
        "shell": Text('"$PWD/@file_name@"'),
    },
)
_TEMPORARY: Final = Place(
    "/tmp",  # noqa: S108 - a name in traces
    {
        "python": Text("os.path.join(tempfile.gettempdir(), @file_name@)", ("os", "tempfile")),
        "javascript": Text("path.join(os.tmpdir(), @file_name@)", ("os os", "path path")),
        "shell": Text('"${TMPDIR:-/tmp}/@file_name@"'),
    },
)
_HOME: Final = Place(
    "/home/skill",
    {
        "python": Text('os.path.join(os.path.expanduser("~"), @file_name@)', ("os",)),
        "javascript": Text("path.join(os.homedir(), @file_name@)", ("os os", "path path")),
        "shell": Text('"$HOME/@file_name@"'),
    },
)
PLACES: Final = (CURRENT, _TEMPORARY, _HOME)

WRITES: Final[Mapping[Language, tuple[Text, ...]]] = {
    "python": (
        Text(
            """
@file@ = @path@
try:
    with open(@file@, encoding="utf-8") as @stream@:
        @stream@.read()
except OSError:
    with open(@file@ + ".new", "w", encoding="utf-8") as @stream@:
        @stream@.write("@note@\\n")
    os.replace(@file@ + ".new", @file@)
""",
            ("os",),
        ),
        Text(
            """
@file@ = pathlib.Path(@path@)
@part@ = @file@.with_name(f"{@file@.name}.part")
@part@.write_text("@note@\\n", encoding="utf-8")
@part@.replace(@file@)
if @file@.read_text(encoding="utf-8") != "@note@\\n":
    raise OSError(f"{@file@} is damaged")
""",
            ("pathlib",),
        ),
        Text(
            """
@file@ = @path@
with open(@file@, "ab+") as @stream@:
    @stream@.write(b"@note@\\n")
shutil.copyfile(@file@, @file@ + ".bak")
os.replace(@file@ + ".bak", @file@)
""",
            ("os", "shutil"),
        ),
    ),
    "javascript": (
        Text(
            """
const @file@ = @path@;
try {
    fs.readFileSync(@file@, "utf8");
} catch {
    fs.writeFileSync(@file@ + ".new", "@note@\\n");
    fs.renameSync(@file@ + ".new", @file@);
}
""",
            ("fs fs",),
        ),
        Text(
            """
const @file@ = @path@;
const @part@ = `${@file@}.part`;
fs.appendFileSync(@part@, "@note@\\n");
fs.renameSync(@part@, @file@);
const @stream@ = fs.openSync(@file@, "r");
fs.closeSync(@stream@);
""",
            ("fs fs",),
        ),
    ),
    "shell": (
        Text(
            """
@file@=@path@
if ! grep -qs "@note@" "$@file@"; then
    printf "%s\\n" "@note@" > "$@file@.new"
    mv "$@file@.new" "$@file@"
fi
"""
        ),
        Text(
            """
@part@=@path@
echo "@note@" > "$@part@.part"
mv "$@part@.part" "$@part@"
cat "$@part@" > /dev/null
"""
        ),
    ),
}

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
