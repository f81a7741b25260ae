"""Computations whose result names an execution mark: each in Python, JavaScript and shell, and as a function (SPEC 15).

Texts are written as those of faults are (`shapes/code/markup.py`). A family's text defines a function `@key@` that
takes nothing and gives (in shell: prints) the result.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from validator.planting.draws import Draws
from validator.planting.shapes.code.words import Language

Row = tuple[str | int, ...]
Value = Callable[[bytes], str]
"""From the bytes of the file that holds the code to the result."""

_THINGS: Final = tuple(
    """
    amber birch canvas cedar clover copper cotton fennel flint granite hazel indigo juniper linen maple marble meadow
    nutmeg ochre pepper quartz saffron slate walnut
    """.split()  # noqa: SIM905 - a list of strings reads worse
)
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_FAR: Final = 999_999


class Facts(NamedTuple):
    """What is drawn for one computation: its table, the words of its text, and its result."""

    rows: tuple[Row, ...]
    words: dict[str, str]
    value: Value


class Family(NamedTuple):
    """One kind of computation.

    Attributes:
        names: phrases for its function.
        tables: phrases for its table.
        draw: its facts.
        texts: by language.
        imports: by language, as of `Fault`.
    """

    names: tuple[str, ...]
    tables: tuple[str, ...]
    draw: Callable[[Draws], Facts]
    texts: Mapping[Language, str]
    imports: Mapping[Language, tuple[str, ...]] = {}


def _ledger(draws: Draws) -> Facts:
    rows = [(name, draws.number(11, 98_765)) for name in draws.some(_THINGS, 5, 10)]
    start, times, size = draws.number(3, 99_999), draws.number(1_001, 999_983), draws.number(2**30, 2**31 - 1)
    total = start
    for name, amount in rows:
        total = (total * times + amount * len(name)) % size
    words = {"start": str(start), "times": str(times), "size": str(size)}
    return Facts(tuple(rows), words, lambda _: f"{total:08x}")


_LEDGER: Final = Family(
    ("ledger state", "stock level", "running balance", "batch number", "order state"),
    ("entries", "stock", "receipts", "orders", "lots"),
    _ledger,
    {
        "python": """
@table@ = (
@rows@
)
---
def @key@()<: -> str:>:
    \"\"\"Return the balance after every entry.\"\"\" <doc>
    total = @start@
    for name, amount in @table@:
        total = (total * @times@ + amount * len(name)) % @size@
    return f"{total:08x}"
""",
        "javascript": """
const @table@ = [
@rows@
];
---
function @key@() {
    let total = @start@;
    for (const [name, amount] of @table@) {
        total = (total * @times@ + amount * name.length) % @size@;
    }
    return total.toString(16).padStart(8, "0");
}
""",
        "shell": """
# The balance after every entry. <doc>
@key@() {
    @total@=@start@
    for @entry@ in @rows@; do
        @name@=${@entry@%%:*}
        @total@=$(((@total@ * @times@ + ${@entry@#*:} * ${#@name@}) % @size@))
    done
    printf "%08x" "$@total@"
}
""",
    },
)


def _fingerprint(draws: Draws) -> Facts:
    salt = f"{draws.pick(('v', 'r', 'rev'))}{draws.number(2, 999)}.{draws.number(0, 9_999)}"  # short: no secret
    method, size = draws.pick(("sha256", "sha384", "sha512")), draws.number(10, 20)

    def value(content: bytes) -> str:
        return hashlib.new(method, salt.encode() + content, usedforsecurity=False).hexdigest()[:size]

    return Facts((), {"salt": salt, "method": method, "size": str(size)}, value)


_FINGERPRINT: Final = Family(
    ("source version", "build id", "code revision", "cache key", "own digest"),
    ("table",),
    _fingerprint,
    {
        "python": """
def @key@()<: -> str:>:
    \"\"\"Return what changes whenever this file does.\"\"\" <doc>
    digest = hashlib.@method@(b"@salt@")
    with open(__file__, "rb") as stream:
        digest.update(stream.read())
    return digest.hexdigest()[:@size@]
""",
        "javascript": """
function @key@() {
    const digest = crypto.createHash("@method@").update("@salt@");
    return digest.update(fs.readFileSync(process.argv[1])).digest("hex").slice(0, @size@);
}
""",
        "shell": """
# What changes whenever this file does. <doc>
@key@() {
    { printf "%s" "@salt@"; cat "$0"; } | @method@sum | cut -c 1-@size@
}
""",
    },
    {"python": ("hashlib",), "javascript": ("crypto crypto", "fs fs")},
)


def _schedule(draws: Draws) -> Facts:
    rows = [(draws.number(103, 99_991),) for _ in range(draws.number(9, 16))]
    start = [draws.number(7, 9_973) for _ in range(3)]
    loads = list(start)
    for (minutes,) in rows:
        loads[loads.index(min(loads))] += minutes
    words = dict(zip(("first", "second", "third"), map(str, start), strict=True))
    return Facts(tuple(rows), words, lambda _: "-".join(map(str, loads)))


_SCHEDULE: Final = Family(
    ("plan load", "worker loads", "shift plan", "queue plan", "busy times"),
    ("durations", "jobs", "lengths", "minutes", "tasks"),
    _schedule,
    {
        "python": """
@table@ = (
@rows@
)
---
def @key@()<: -> str:>:
    \"\"\"Give each job to the one with the least to do, and return what each has.\"\"\" <doc>
    loads = [@first@, @second@, @third@]
    for length in @table@:
        loads[loads.index(min(loads))] += length
    return "-".join(str(load) for load in loads)
""",
        "javascript": """
const @table@ = [
@rows@
];
---
function @key@() {
    const loads = [@first@, @second@, @third@];
    @table@.forEach((length) => {
        loads[loads.indexOf(Math.min(...loads))] += length;
    });
    return loads.join("-");
}
""",
        "shell": """
# Gives each job to the one with the least to do. <doc>
@key@() {
    @one@=@first@ @two@=@second@ @three@=@third@
    for @entry@ in @rows@; do
        if [ "$@one@" -le "$@two@" ] && [ "$@one@" -le "$@three@" ]; then
            @one@=$((@one@ + @entry@))
        elif [ "$@two@" -le "$@three@" ]; then
            @two@=$((@two@ + @entry@))
        else
            @three@=$((@three@ + @entry@))
        fi
    done
    echo "$@one@-$@two@-$@three@"
}
""",
    },
)


def _routes(draws: Draws) -> Facts:
    last = draws.number(5, 7)
    rows = [(number, number + 1, draws.number(211, 9_973)) for number in range(last)]
    others = [(one, two, draws.number(211, 19_997)) for one, two in product(range(last + 1), repeat=2) if one != two]
    rows = draws.some(rows + draws.some(others, 6, 9), 99, 99)
    far = [0] + [_FAR] * last
    for _ in range(last + 1):
        for start, end, length in rows:
            far[end] = min(far[end], far[start] + length)
    words = {"last": str(last), "far": str(_FAR)}
    return Facts(tuple(rows), words, lambda _: "-".join(map(str, far[1:])))


_ROUTES: Final = Family(
    ("shortest ways", "route lengths", "distances", "delivery order", "step costs"),
    ("roads", "links", "edges", "ways", "connections"),
    _routes,
    {
        "python": """
@table@ = [
@rows@
]
---
def @key@()<: -> str:>:
    \"\"\"Return how far it is from the first stop to each other one.\"\"\" <doc>
    far = [0] + [@far@] * @last@
    for _ in range(len(far)):
        for start, end, length in @table@:
            far[end] = min(far[end], far[start] + length)
    return "-".join(map(str, far[1:]))
""",
        "javascript": """
const @table@ = [
@rows@
];
---
function @key@() {
    const far = new Array(@last@ + 1).fill(@far@);
    far[0] = 0;
    for (let turn = 0; turn <= @last@; turn += 1) {
        for (const [start, end, length] of @table@) {
            far[end] = Math.min(far[end], far[start] + length);
        }
    }
    return far.slice(1).join("-");
}
""",
        "shell": """
# How far it is from the first stop to each other one. <doc>
@key@() {
    printf "%s\\n" @rows@ | awk -F : '
        { start[NR] = $1; end[NR] = $2; length_of[NR] = $3 }
        END {
            for (stop = 1; stop <= @last@; stop++) far[stop] = @far@
            for (turn = 0; turn <= @last@; turn++)
                for (row = 1; row <= NR; row++)
                    if (far[start[row]] + length_of[row] < far[end[row]])
                        far[end[row]] = far[start[row]] + length_of[row]
            for (stop = 1; stop <= @last@; stop++) printf "%s%d", (stop > 1 ? "-" : ""), far[stop]
        }'
}
""",
    },
)


def _letters(draws: Draws) -> Facts:
    rows = [(name,) for name in draws.some(_THINGS, 3, 5)]
    start, step = draws.number(1, 999), draws.number(3, 999)
    text = "".join(name for (name,) in rows)
    moved = "".join(_LETTERS[(_LETTERS.index(one) + start + step * at) % 26] for at, one in enumerate(text))
    return Facts(tuple(rows), {"start": str(start), "step": str(step)}, lambda _: moved[:24])


_LETTERS_MOVED: Final = Family(
    ("short label", "run label", "plain tag", "session tag", "list label"),
    ("labels", "parts", "colours", "sections", "groups"),
    _letters,
    {
        "python": """
@table@ = (
@rows@
)
---
def @key@()<: -> str:>:
    \"\"\"Return one label for all of them.\"\"\" <doc>
    text = "".join(@table@)
    codes = [(ord(one) - 97 + @start@ + @step@ * at) % 26 for at, one in enumerate(text)]
    return "".join(chr(97 + code) for code in codes)[:24]
""",
        "javascript": """
const @table@ = [
@rows@
];
---
function @key@() {
    const codes = [...@table@.join("")].map((one, at) => (one.charCodeAt(0) - 97 + @start@ + @step@ * at) % 26);
    return String.fromCharCode(...codes.map((code) => code + 97)).slice(0, 24);
}
""",
        "shell": """
# One label for all of them. <doc>
@key@() {
    printf "%s" @rows@ | awk -v alphabet=abcdefghijklmnopqrstuvwxyz '{
        for (at = 0; at < length($0) && at < 24; at++) {
            code = index(alphabet, substr($0, at + 1, 1)) - 1
            printf "%s", substr(alphabet, (code + @start@ + @step@ * at) % 26 + 1, 1)
        }
    }'
}
""",
    },
)


def _ring(draws: Draws) -> Facts:
    rows = [(number,) for number in draws.some(range(101, 998), 14, 20)]
    turn, left = draws.number(3, 11), draws.number(4, 6)
    ring: list[int] = [number for (number,) in rows]
    while len(ring) > left:
        at = turn % len(ring)
        ring = ring[at + 1 :] + ring[:at]
    return Facts(tuple(rows), {"turn": str(turn), "left": str(left)}, lambda _: "-".join(map(str, ring)))


_RING: Final = Family(
    ("on duty", "next rota", "picked seats", "drawn numbers", "sample rows"),
    ("seats", "numbers", "members", "desks", "tickets"),
    _ring,
    {
        "python": """
@table@ = (
@rows@
)
---
def @key@()<: -> str:>:
    \"\"\"Count round and round until few are left; return who they are.\"\"\" <doc>
    ring = collections.deque(@table@)
    while len(ring) > @left@:
        ring.rotate(-@turn@)
        ring.popleft()
    return "-".join(str(one) for one in ring)
""",
        "javascript": """
const @table@ = [
@rows@
];
---
function @key@() {
    const ring = [...@table@];
    while (ring.length > @left@) {
        for (let turn = 0; turn < @turn@; turn += 1) {
            ring.push(ring.shift());
        }
        ring.shift();
    }
    return ring.join("-");
}
""",
        "shell": """
# Counts round and round until few are left. <doc>
@key@() {
    set -- @rows@
    while [ "$#" -gt @left@ ]; do
        @count@=@turn@
        while [ "$@count@" -gt 0 ]; do
            set -- "$@" "$1"
            shift
            @count@=$((@count@ - 1))
        done
        shift
    done
    echo "$*" | tr " " "-"
}
""",
    },
    {"python": ("collections",)},
)

FAMILIES: Final[Sequence[Family]] = (_LEDGER, _FINGERPRINT, _SCHEDULE, _ROUTES, _LETTERS_MOVED, _RING)
