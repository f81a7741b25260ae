"""A scoring version and a skill type: added as docs/architecture.md says, played, and thrown away."""

from pathlib import Path

from recipe_kit import Tree

VERSIONS = "sssa/scoring/versions.py"


def with_version(tree: Tree, rules: str) -> None:
    """Add 3.0.0 with these rules, and let new rounds be of it."""
    tree.new("sssa/scoring/v3/__init__.py", '"""Scoring version 3.0.0: where it differs from 1.0.0."""\n')
    tree.new("sssa/scoring/v3/rules.py", rules)
    tree.put(
        VERSIONS,
        "import RULES as RULES_1\n",
        "import RULES as RULES_1\nfrom sssa.scoring.v3.rules import RULES as RULES_3\n",
    )
    tree.put(VERSIONS, 'Version20("2.0.0", RULES_2))', 'Version20("2.0.0", RULES_2), Version("3.0.0", RULES_3))')
    tree.put(VERSIONS, 'CURRENT: Final = "1.0.0"', 'CURRENT: Final = "3.0.0"')


PLAYED = """
    import asyncio, sys
    from replays import replayed
    from world import World, on_virtual_time, tasks_of_all_types
    from validator.audit.explain.round_explanation import explain_round
    from sssa.protocol.round import AssessedMember
    from sssa.protocol.skill_types import SkillType
    from sssa.scoring import version
    from validator.store import open_store, upgrade
    from validator.tasks.source import MemorySource

    async def play(kind):
        url = f"sqlite:///{sys.argv[1]}"
        await upgrade(url)
        async with open_store(url) as store:
            source = MemorySource(task for task in tasks_of_all_types() if task.task.skill_type == kind)
            world = World(store, source=source)
            end = await on_virtual_time(world, world.service.one_round())
            assert (await replayed(store)).verdict == "equal"
            async with store.read() as tx:
                frozen = (await tx.rounds.get(0)).input
                explained = await explain_round(tx, 0, next(iter(world.signers)))
        assert all(task.as_stored for task in explained.tasks)
        return frozen, end.outcome
"""


def test_a_scoring_version_scores_new_rounds_and_leaves_old_ones(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    with_version(
        tree,
        '''
        """Every number of version 3.0.0: those of 1.0.0, and an auditor's half."""

        from dataclasses import replace
        from typing import Final

        from sssa.scoring.v1.rules import RULES as OLD

        RULES: Final = replace(OLD, emission=replace(OLD.emission, auditor=0.5))
        ''',
    )
    tree.put("docs/spec.md", "| role | primary 1.0, auditor 0.6 |", "| role | primary 1.0, auditor 0.5 (1.0.0: 0.6) |")
    tree.use(
        PLAYED
        + """
    from random_rounds import scored

    frozen, outcome = asyncio.run(play(SkillType.RAG_KNOWLEDGE))
    assert frozen.scoring_version == outcome.scoring_version == "3.0.0"
    assert {member.reason for member in outcome.members} == {"accepted"}

    def auditors(number, name):
        members = scored(number, version(name))[2].members
        found = [member for member in members if member.role == "auditor"]
        return [one.emission for one in found if isinstance(one, AssessedMember) and one.emission]

    old, new = ([value for number in range(40) for value in auditors(number, name)] for name in ("1.0.0", "3.0.0"))
    assert len(old) == len(new) > 10
    assert {(one.role, other.role) for one, other in zip(old, new)} == {(0.6, 0.5)}
    assert any(other.emission < one.emission for one, other in zip(old, new))
    """,
        str(tree.folder / "store.sqlite"),
    )
    tree.holds("a scoring version")


def test_a_skill_type_is_declared_planned_dispatched_judged_and_scored(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.after(
        "sssa/protocol/skill_types.py",
        "    AGENT_COMPOSITION = ",
        '    NOTEBOOK = "notebook"\n',
    )
    with_version(
        tree,
        '''
        """Every number of version 3.0.0: those of 1.0.0, and a type more."""

        from dataclasses import replace
        from types import MappingProxyType
        from typing import Final

        from sssa.protocol.skill_types import SkillType
        from sssa.protocol.task import Windows
        from sssa.scoring.v1.rules import RULES as OLD
        from sssa.scoring.v1.rules import TypeRules

        _NOTEBOOK: Final = TypeRules(
            base_weight=0.9,
            windows=Windows(primary=(10, 90), auditor=(3, 30)),
            axes=(("alpha", 0.5), ("pi", 0.2), ("eta", 0.05)),
            baseline=0.4,
        )
        RULES: Final = replace(OLD, types=MappingProxyType({**OLD.types, SkillType.NOTEBOOK: _NOTEBOOK}))
        ''',
    )
    tree.after(
        "docs/spec.md",
        "| agent_composition | 2.0 |",
        "| notebook | 0.9 | no | 10, 90 | 3, 30 | alpha .5, pi .2, eta .05 | .40 | – |\n",
    )
    tree.use(
        PLAYED
        + """
    from test_docs_numbers import test_the_table_of_types as told

    frozen, outcome = asyncio.run(play(SkillType.NOTEBOOK))
    assert {task.skill_type for task in frozen.tasks} == {"notebook"}
    assert all("notebook" in miner.skill_types for miner in frozen.miners)
    assert len(outcome.members) == 10 and {member.reason for member in outcome.members} == {"accepted"}
    assert {member.emission.base_weight for member in outcome.members} == {0.9}
    assert all(member.window_entry == member.emission.emission > 0 for member in outcome.members)
    assert "notebook" not in version("1.0.0").rules.types
    told()
    """,
        str(tree.folder / "store.sqlite"),
    )
    tree.holds("a skill type")
