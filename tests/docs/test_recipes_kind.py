"""A kind of task: the toy of tests/validator/kinds/ put where docs/architecture.md says, played, and thrown away."""

from pathlib import Path

from doc_pages import ROOT
from recipe_kit import Tree

KINDS = ROOT / "tests" / "validator" / "kinds"
ASSEMBLY = "validator/daemon/assembly.py"
REGISTRY = "sssa/kinds/registry.py"
PAGES = "validator/cli/kinds/__init__.py"


def test_a_kind_is_sent_run_by_the_runner_of_the_assembly_settled_replayed_and_explained(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.new("sssa/kinds/toy/__init__.py", '"""Toys."""\n')
    tree.new("sssa/kinds/toy/kind.py", (KINDS / "toy_kind.py").read_text())
    page = (KINDS / "toy_page.py").read_text()
    tree.new("validator/cli/kinds/toy.py", page.replace("from toy_kind ", "from sssa.kinds.toy.kind "))
    tree.after(REGISTRY, "from sssa.kinds.interface ", "from sssa.kinds.toy.kind import TOY\n")
    tree.put(REGISTRY, "(ASSESSMENT, WORKFLOW)", "(ASSESSMENT, WORKFLOW, TOY)")
    tree.put(PAGES, "import assessment, workflow\n", "import assessment, toy, workflow\n")
    tree.after(
        PAGES,
        '    "workflow": KindPage(',
        '    "toy": KindPage(toy.write_toy, toy.subject, toy.outcome_line, toy.print_members),\n',
    )
    tree.after(ASSEMBLY, "from validator.kinds.assessment.supply ", "from sssa.kinds.toy.kind import TOY, Stamper\n")
    tree.put(ASSEMBLY, "    runners = {", "    runners = {TOY.name: Stamper(), ")
    told = tree.use(
        """
        import asyncio, sys
        from dataclasses import replace
        from types import SimpleNamespace
        import sssa.kinds.toy.kind as room
        sys.modules["toy_kind"] = room
        from replays import replayed
        from toy_miners import ToyWorld
        from world import on_virtual_time
        from validator.audit.explain.round_explanation import explain_round
        from validator.cli.explain import print_round_explanation
        from validator.daemon.assembly import _dispatcher
        from validator.daemon.world import PRELOAD
        from validator.rounds.attribution import network_there
        from validator.rounds.heartbeat import Heartbeat
        from validator.store import open_store, upgrade

        async def main(url):
            await upgrade(url)
            async with open_store(url) as store:
                world = ToyWorld(store)
                outside = SimpleNamespace(
                    miners=world.client, steps=None, clock=world.clock, workers=None, source=world.source
                )
                assembled = _dispatcher(outside, store, Heartbeat(world.clock), network_there)
                stamper = assembled.runners["toy"]
                world.dispatcher = replace(world.dispatcher, runners={**world.dispatcher.runners, "toy": stamper})
                world.service.dispatcher = world.dispatcher
                await on_virtual_time(world, world.service.one_round())
                assert world.toys > stamper.stamps > 0
                assert (await replayed(store)).verdict == "equal"
                async with store.read() as tx:
                    for hotkey in world.signers:
                        print_round_explanation(await explain_round(tx, 0, hotkey))

        asyncio.run(main(f"sqlite:///{sys.argv[1]}"))
        assert "sssa.kinds.toy.kind" in PRELOAD
        """,
        str(tree.folder / "store.sqlite"),
    )
    assert "a toy, slot 0, for" in told
    tree.holds("a kind of task")
