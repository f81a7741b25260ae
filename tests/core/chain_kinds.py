"""The kinds of world in which the contract of every `Chain` is held, opened by need and closed after the test."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from chain_worlds import Ability, Build, SdkWorld, SimulatedWorld, World
from served_world import ServedWorld
from subtensor_world import NodeWorld

NODE = os.environ.get("SUBTENSOR_URL")
KINDS: Mapping[str, type[SimulatedWorld | SdkWorld | ServedWorld | NodeWorld]] = {
    "simulated": SimulatedWorld,
    "sdk": SdkWorld,
    "served": ServedWorld,
    "node": NodeWorld,
}


@asynccontextmanager
async def worlds_of(name: str) -> AsyncIterator[Build]:
    """Make worlds of one kind; the rules given are those of a simulated subnet."""
    worlds: list[World] = []

    async def made(*needs: Ability, **rules: object) -> World:
        if name == "node" and NODE is None:
            pytest.skip("SUBTENSOR_URL is not set: no real node")
        kind = KINDS[name]
        for need in needs:
            if need in kind.cannot:
                pytest.skip(kind.cannot[need])
        world = await kind.open(NODE or "", rules)
        worlds.append(world)
        if isinstance(world, NodeWorld) and "faults" in needs:
            await world.own_hotkey()
        if rules.get("reveal_epochs") and not (await world.run(world.chain.parameters())).takes_commitments:
            pytest.skip("the node's runtime takes no commitments")
        return world

    yield made
    for world in worlds:
        await world.close()
