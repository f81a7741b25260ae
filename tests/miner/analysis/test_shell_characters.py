"""Characters behind ASCII in shell scripts, which the grammar's scanner looks up behind the end of a table.

Whether that ends the process is up to where things lie in memory; what it would make of them tells that it got them.
"""

import pytest

from miner.analysis.shell_tree import ShellTree, parse_tree

LONG = "# read whole\n" * 1_000


def commands(tree: ShellTree) -> list[tuple[str, list[str]]]:
    found = [node for node in tree.root.children if node.type != "comment"]
    return [(node.type, [tree.text(word) for word in node.children]) for node in found]


@pytest.mark.parametrize("start", ["", LONG])
def test_they_are_parts_of_words_and_of_no_name(start: str) -> None:
    tree = parse_tree(f"{start}cat a\u00a0é 'ü'\né=1\ne=\U0010ffff\n")
    assert tree.complete
    assert commands(tree) == [
        ("command", ["cat", "a\u00a0é", "'ü'"]),
        ("command", ["é=1"]),
        ("variable_assignment", ["e", "=", "\U0010ffff"]),
    ]


@pytest.mark.parametrize("script", ["l=={\U000e0041\n", "[[ a =~ \U0010ffff ]]\n", "${\U00020000}\n", "<<\U00030000\n"])
def test_no_character_ends_the_process(script: str) -> None:
    assert parse_tree(script).root.child_count > 0
