"""Inhabitants of the local network, made ready: keys, slots on the simulated subnet, running servers."""

import asyncio
from dataclasses import dataclass, field

from localnet.behaviours import behaviour_of
from localnet.chain.subnet import SimulatedSubnet
from localnet.planner.planner_server import LocalPlanner
from localnet.planner.skills import HABITS
from localnet.roster import Resident
from miner.analysis_pool import Analyser
from miner.assessment import Kit
from miner.behaviours import PACE_S, paced
from miner.server import LocalMiner
from miner.tracing import Tracer
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.sources import Clock


@dataclass(slots=True)
class Population:
    """Starts residents and registers them when their round comes.

    Args:
        residents: who they are.
        subnet: where they register.
        clock: for their declarations.
        seed: their keys follow from it.
        validators: the only hotkeys they answer to.
        analyses, tracer: the tools they share.
        least_s: seconds before which none answers.
    """

    residents: tuple[Resident, ...]
    subnet: SimulatedSubnet
    clock: Clock
    seed: str
    validators: frozenset[str]
    analyses: Analyser
    tracer: Tracer
    least_s: float = PACE_S
    _waiting: dict[str, Axon] = field(default_factory=dict)
    _servers: list[LocalMiner | LocalPlanner] = field(default_factory=list)
    hotkeys: dict[str, Resident] = field(default_factory=dict)

    async def start(self) -> None:
        """Start every server; nobody is registered yet."""
        for resident in self.residents:
            signer = Signer.from_uri(f"//{self.seed}//{resident.name}")
            self.hotkeys[signer.hotkey] = resident
            self._waiting[signer.hotkey] = await self._listen(resident, signer)

    def invite(self, resident: Resident, hotkey: str, axon: Axon) -> None:
        """Let a miner that runs elsewhere join with the others."""
        self.hotkeys[hotkey] = resident
        self._waiting[hotkey] = axon

    async def _listen(self, resident: Resident, signer: Signer) -> Axon:
        server = self._planner(resident, signer) or self._miner(resident, signer)
        self._servers.append(server)
        return await server.start()

    def _planner(self, resident: Resident, signer: Signer) -> LocalPlanner | None:
        habits = HABITS.get(resident.kind)
        return None if habits is None else LocalPlanner(signer, habits, self.validators, self.clock)

    def _miner(self, resident: Resident, signer: Signer) -> LocalMiner:
        return LocalMiner(
            kit=Kit(signer, self.analyses, self.tracer),
            behaviour=paced(behaviour_of(resident, self.seed), self.least_s),
            validators=self.validators,
            clock=self.clock,
            max_concurrent=resident.max_concurrent,
            skill_types=resident.skill_types,
            dies_after=self.validators if resident.kind == "dead" else (),
        )

    def register(self, round_number: int) -> int:
        """Register everyone whose round has come; return how many that were."""
        due = [hotkey for hotkey in self._waiting if self.hotkeys[hotkey].joins <= round_number]
        for hotkey in due:
            self.subnet.register(hotkey, axon=self._waiting.pop(hotkey))
        return len(due)

    async def close(self) -> None:
        """Stop every server."""
        await asyncio.gather(*(server.close() for server in self._servers))
