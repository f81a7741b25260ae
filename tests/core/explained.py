"""Rounds through the whole pipeline that bring about everything `explain` has to explain, the same on every run.

Miners sign with ed25519, whose signatures follow from key and bytes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import cycle, islice
from typing import Any, Final

import msgspec
from builders import FILES
from virtual_time import passed
from world import VALIDATOR, Script, World, answer_to, garbage

from sssa.protocol.answer import Dispatch
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Analysis, Dependency, Finding, Policy, Rule, Signature, Verdict
from sssa.protocol.task import KnownFinding, Task, Truth, Windows, version_for
from sssa.protocol.times import format_time
from validator.miners.scripted import ScriptedReply
from validator.outgoing.stalls import Stall
from validator.rounds.prepare import Prepared
from validator.rounds.settle import settle_round
from validator.store import Store
from validator.tasks.source import FETCH_S, MemorySource, Order, SourcedTask

RAG, DECLARATIVE = SkillType.RAG_KNOWLEDGE, SkillType.DECLARATIVE
PYTHON, SCRIPT = SkillType.EXECUTABLE_PYTHON, SkillType.EXECUTABLE_SCRIPT
MCP, AGENTS = SkillType.MCP_SERVER, SkillType.AGENT_COMPOSITION
WINDOWS: Final = Windows((1, 9), (0.5, 5))
HOTKEYS: Final = tuple(Signer.from_uri(f"//Miner//{number}", "ed25519").hotkey for number in range(16))
NUMBERS: Final = {hotkey: number for number, hotkey in enumerate(HOTKEYS)}
ROUND_S: Final = 20.0
ASSORTED_ROUNDS: Final = 5
COHORT_ROUNDS: Final = 6

INJECTION = Finding("f1", "prompt_injection", "high", "Hidden orders.", "docs/readme.md#L2", (), "system prompt")
SHELL = Finding("f2", "excessive_capability", "medium", "Starts programs.", "s1::./a.py#L1", (), "/bin/sh")
ADVISORY = Finding("f3", "dependency_cve", "high", "Old.", "which.txt", ("cve-2018-18074",), "pkg:pypi/Requests@2.19.0")
RUMOUR = Finding("f4", "other", "low", "A \x1b[31mfeeling\u202e.", "a.py#L2", (), "a.py\x1b[31m | [bold]b[/bold]")
REQUESTS = Dependency("requests", "2.19.0", ("CVE-2018-18074",))
URLLIB = Dependency("urllib3", "1.24", ())
NET, RUN = Rule("network", "deny", "*"), Rule("process", "review", "/bin/sh")

FAULTS: Final = (
    KnownFinding("prompt_injection", "high", "docs/readme.md#L2", (), "", "injection/hidden-orders"),
    KnownFinding("excessive_capability", "medium", "a.py#L1", (), "", "capability/shell-of-input"),
    KnownFinding("dependency_cve", "high", "which.txt", ("CVE-2018-18074",), "", "vulnerable_pin/python"),
    KnownFinding("secrets_exposure", "high", "a.py#L2", (), "", "secret/token"),
)  # the last of them nobody finds

# What the miners say, by number; anyone who is missing says what the first one says.
GOOD: Final = Analysis("BLOCK", 0.8, (INJECTION, SHELL, ADVISORY), ("network", "subprocess"), (REQUESTS, URLLIB))
ANALYSES: Final[Mapping[int, tuple[Analysis, tuple[Rule, ...]]]] = {
    0: (GOOD, (NET, RUN)),
    1: (Analysis("REVIEW", 0.6, (INJECTION, SHELL), ("network",), (REQUESTS,)), (NET,)),
    2: (
        Analysis("BLOCK", 0.9, (INJECTION, ADVISORY, RUMOUR), ("network", "file_io"), (URLLIB,)),
        (NET, Rule("file", "deny", "/etc/*")),
    ),
    3: (Analysis("ALLOW", 0.1, (), (), ()), ()),
}
# Which types each miner declares; the last one declares nothing.
DECLARED: Final[Mapping[int, tuple[SkillType, ...]]] = {
    **dict.fromkeys(range(8), (PYTHON,)),
    0: (RAG, DECLARATIVE, PYTHON, AGENTS),
    1: (RAG, DECLARATIVE, PYTHON),
    2: (RAG, PYTHON, MCP),
    3: (RAG, PYTHON, MCP),
    4: (PYTHON, SCRIPT),
    5: (PYTHON, SCRIPT),
    6: (PYTHON, SCRIPT),
}
LATE, GARBAGE, ONE_AT_A_TIME, SILENT = 7, 6, 5, 8
HELD_UP, OUT_OF = 3, 4


class TasksInTurn(MemorySource):
    """Serves tasks of each type in the order in which they were added, round about: pages show the same ones always."""

    def __init__(self, tasks: Iterable[SourcedTask]) -> None:
        tasks = tuple(tasks)
        super().__init__(tasks)
        self._turns = {kind: cycle([task for task in tasks if task.task.skill_type == kind]) for kind in SkillType}
        self._many = Counter(task.task.skill_type for task in tasks)

    async def fetch(
        self, skill_type: SkillType, count: int, order: Order, within_s: float = FETCH_S
    ) -> list[SourcedTask]:
        return list(islice(self._turns[skill_type], min(count, self._many[skill_type])))


class ExplainedWorld(World):
    """A world whose miners declare what `declared` says and whose rounds begin at whole multiples of 20 s."""

    def __init__(
        self,
        store: Store,
        source: MemorySource,
        script: Script,
        declared: Mapping[int, tuple[SkillType, ...]],
        tempo: int = 20,
    ) -> None:
        miners = min(max(declared) + 2, len(HOTKEYS))
        super().__init__(store, miners=miners, script=script, source=source, crypto="ed25519", tempo=tempo)
        self.declared = declared

    def _capabilities(self, signer: Signer) -> bytes:
        number, now = NUMBERS[signer.hotkey], self.clock.now()
        types = self.declared.get(number)
        if types is None:
            return b"{}"
        document = Capabilities(
            "1.0",
            signer.hotkey,
            types,
            "test",
            format_time(now),
            format_time(now + timedelta(hours=12)),
            Signature(signer.hotkey, "ed25519", "0x" + "0" * 128),
            max_concurrent=1 if number == ONE_AT_A_TIME else 2,
        )
        return msgspec.json.encode(signer.sign_document(document))

    async def play(self, *, void: SkillType | None = None) -> None:
        """Play one round; every task of the type `void` is void as after a crash."""
        snapshot = await self.chain.snapshot()
        await self.service.directory.refresh(snapshot)
        prepared = await self.preparer.prepare(snapshot)
        assert isinstance(prepared, Prepared)
        returned = await passed(self.clock, self.store, self.dispatcher.dispatch(prepared))
        lost = {task.task_id: Reason.BUG_CRASH for task in prepared.frozen.tasks if task.skill_type == void}
        returned = replace(returned, void={**returned.void, **lost})
        await settle_round(self.store, self.clock, VALIDATOR, prepared.frozen, prepared.plan, returned)
        await self.clock.advance(ROUND_S - self.clock.monotonic() % ROUND_S)


async def assorted(store: Store) -> ExplainedWorld:
    """Play five rounds of all types with a little of everything; the last one is the one to explain."""
    world = ExplainedWorld(store, TasksInTurn(assorted_tasks()), assorted_script, DECLARED)
    for _ in range(ASSORTED_ROUNDS - 1):
        await world.play()
    await world.play(void=AGENTS)
    return world


async def stalled(store: Store) -> ExplainedWorld:
    """Play a round in which the validator stops for 12 s and runs out of descriptors: that costs no miner."""
    source = TasksInTurn([_task(RAG, "none", None, "the only one")])
    world = ExplainedWorld(store, source, stalled_script, dict.fromkeys(range(OUT_OF + 1), (RAG,)))
    world.dispatcher = replace(world.dispatcher, stalls=lambda since: (Stall(1.0, 12.0),) if since < 13.0 else ())
    await world.play()
    return world


async def cohort(store: Store) -> ExplainedWorld:
    """Play rounds of one type in which three miners repeat one another; the last one flags them.

    They are alone at first, which lifts their reputations: from then on they are the primaries.
    """
    everyone = dict.fromkeys(range(len(HOTKEYS)), (RAG,))
    source = TasksInTurn([_task(RAG, "curated", _truth(GOOD.verdict), "the only one")])
    world = ExplainedWorld(store, source, _cohort_script, everyone)
    world.declared = dict.fromkeys(range(3), (RAG,))
    await world.play()
    world.declared = everyone
    for _ in range(COHORT_ROUNDS - 1):
        await world.play()
    return world


def answer(
    signer: Signer, dispatch: Dispatch, analysis_and_rules: tuple[Analysis, tuple[Rule, ...]], seconds: float
) -> ScriptedReply:
    """A signed answer that says this, after so many seconds."""
    plain = answer_to(signer, dispatch)
    analysis, rules = analysis_and_rules
    sssa = signer.sign_document(msgspec.structs.replace(plain.sssa, analysis=analysis, policy=Policy(rules)))
    return ScriptedReply(msgspec.json.encode(msgspec.structs.replace(plain, sssa=sssa)), seconds=seconds)


def assorted_script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    number = NUMBERS[signer.hotkey]
    if dispatch.skill_type == PYTHON and number == LATE:
        return ScriptedReply(seconds=60.0)
    if dispatch.skill_type == PYTHON and number == GARBAGE:
        return garbage(signer, dispatch)
    seconds = 0.25 if dispatch.skill_type == RAG and number == 1 else 2.0 + number / 2
    if dispatch.skill_type == RAG and dispatch.round_id == str(ASSORTED_ROUNDS - 1) and number == 2:
        return ScriptedReply(seconds=1.0, status=503)
    return answer(signer, dispatch, ANALYSES.get(number, ANALYSES[0]), seconds)


def stalled_script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """One gives up during the stall, and for one there is no descriptor."""
    number = NUMBERS[signer.hotkey]
    if number == HELD_UP:
        return ScriptedReply(seconds=9.0, status=None)
    if number == OUT_OF:
        return ScriptedReply(out_of="file descriptor")
    return answer(signer, dispatch, ANALYSES.get(number, ANALYSES[0]), 13.5)


def _cohort_script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    together = NUMBERS[signer.hotkey] < 3
    return answer(signer, dispatch, ANALYSES[3 if together else 0], 2.0)


def assorted_tasks() -> list[SourcedTask]:
    known = _truth("BLOCK", policy_rules=(NET, RUN), injections=("docs/readme.md#L2",), reference_risk=0.75)
    planted = msgspec.structs.replace(known, findings=FAULTS)
    return [
        task
        for number in range(2 * ASSORTED_ROUNDS)
        for task in (
            _task(RAG, "curated", known, f"rag {number}"),
            _task(DECLARATIVE, "curated", known, f"declarative {number}"),
            _task(PYTHON, "curated", planted, f"python {number}"),
            _task(SCRIPT, "none", None, f"script {number}"),
            _task(MCP, "none", None, f"mcp {number}"),
            _task(AGENTS, "none", None, f"agents {number}"),
        )
    ]


def _truth(verdict: Verdict, **known: Any) -> Truth:
    nothing = dict.fromkeys(set(Truth.__struct_fields__) - {"findings", "mark"})
    return Truth(**{**nothing, **known, "verdict": verdict})


def _task(kind: SkillType, provenance: Any, truth: Truth | None, which: str) -> SourcedTask:
    bundle = pack({**FILES, "which.txt": which.encode()})
    return SourcedTask(Task(version_for(truth), kind, WINDOWS, sha256_hex(bundle), provenance, truth, None), bundle)
