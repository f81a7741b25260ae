"""Types of msgspec in more than one thread, and the one module that decodes them."""

import ast
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from sssa.protocol import typed

HOUSES = [Path(typed.__file__).parents[2] / house for house in ("sssa", "validator", "publisher", "taskmaker")]
# Types that nobody has decoded, wide enough to be half made for a while, and threads that all want them at once:
# without the module this process dies of SIGSEGV.
CROWD = """
import sys, threading
from msgspec import Struct, defstruct
from sssa.protocol import typed

sys.setswitchinterval(1e-6)
faults = []

def crowd(kind, data):
    barrier = threading.Barrier(4)
    def one():
        barrier.wait()
        try:
            (CALL)
        except BaseException as error:
            faults.append(error)
    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

for k in range(10):
    fields = [(f"f{j}", int | None, None) for j in range(8)]
    kinds = [defstruct(f"Leaf{i}", fields, tag=str(i), frozen=True, module="__main__") for i in range(30)]
    union = kinds[0]
    for kind in kinds[1:]:
        union |= kind
    tree = defstruct(f"Tree{k}", [("leaves", tuple[union, ...])], frozen=True, module="__main__")
    crowd(tree, b'{"leaves": [' + b",".join(b'{"type": "%d", "f0": 1}' % i for i in range(30)) + b"]}")
assert not faults, faults
"""


@pytest.mark.parametrize("call", ["typed.decode(data, kind)", "typed.convert({'leaves': [{'type': '3'}]}, kind)"])
def test_types_that_many_threads_want_for_the_first_time_are_made_once(call: str) -> None:
    script = CROWD.replace("(CALL)", call)
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_document_is_decoded_or_refused_as_by_msgspec() -> None:
    assert typed.decode(b'{"a": [1]}', dict[str, list[int]]) == {"a": [1]}
    assert typed.decode('{"a": [1]}', dict[str, list[int]]) == {"a": [1]}
    assert typed.convert({"a": [1]}, dict[str, list[int]]) == {"a": [1]}
    with pytest.raises(msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$\[...\]\[0\]`"):
        typed.decode(b'{"a": ["1"]}', dict[str, list[int]])
    with pytest.raises(msgspec.ValidationError):
        typed.convert({"a": ["1"]}, dict[str, list[int]])
    with pytest.raises(msgspec.DecodeError):
        typed.decode(b"{", dict[str, list[int]])


def test_nobody_decodes_types_decodes_types_the_door() -> None:
    calls_elsewhere = []
    for file in sorted(file for house in HOUSES for file in house.rglob("*.py")):
        text = file.read_text()
        if file == Path(typed.__file__) or "msgspec" not in text:
            continue
        calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        calls_elsewhere += [f"{file}:{call.lineno}" for call in calls if _decodes_types(call)]
    assert calls_elsewhere == []


def _decodes_types(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    kinds = [keyword for keyword in call.keywords if keyword.arg == "type"]
    return name in ("msgspec.convert", "msgspec.json.Decoder") or (name == "msgspec.json.decode" and bool(kinds))
