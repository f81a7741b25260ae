"""Hostile plans: what a miner may answer to a workflow task."""

import asyncio
import random
from typing import Any

import msgspec
from aiohttp import web
from workflow_builders import plan_document, step

from hostile.documents import unterminated
from hostile.kinds import ACCEPTED, SCHEMA, Made, kind
from hostile.strings import everything, injection
from sssa.protocol.limits import MAX_PARAMS, MAX_PLAN_BODY
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from sssa.protocol.workflow_task import WorkflowTask

_PLAN = Reason.PARSE_PLAN
_STEPS = 10


class Planning:
    """One dispatch of a workflow to be answered with hostility."""

    def __init__(
        self, rng: random.Random, signer: Signer, dispatch: WorkflowDispatch, task: WorkflowTask, request: web.Request
    ) -> None:
        self.rng = rng
        self.signer = signer
        self.dispatch = dispatch
        self.task = task
        self.request = request

    def document(self, nodes: list[dict[str, Any]] | None = None, edges: Any = (), **changes: Any) -> dict[str, Any]:
        """A plan for this dispatch; one honest step by default."""
        about = {"goal_sha256": self.dispatch.goal_sha256, "nonce": self.dispatch.nonce} | changes.pop("about", {})
        own = plan_document(self.task, nodes or [step("find", timeout=3.0)], edges, **changes)
        return own | {"task": about}

    def plan(self, nodes: list[dict[str, Any]] | None = None, edges: Any = (), **changes: Any) -> bytes:
        """The same, signed."""
        plan = msgspec.convert(self.document(nodes, edges, **changes), WorkflowPlan)
        return msgspec.json.encode(self.signer.sign_document(plan))

    def unsigned(self, nodes: list[dict[str, Any]] | None = None, edges: Any = (), **changes: Any) -> bytes:
        return msgspec.json.encode(self.document(nodes, edges, **changes))


@kind("plans", "plan", SCHEMA, dear=True)
async def plan_that_never_ends(case: Planning) -> Made:
    """256 KiB of an open string of escaped quotes."""
    return unterminated(MAX_PLAN_BODY)


@kind("plans", "plan", SCHEMA, dear=True)
async def plan_of_keys(case: Planning) -> Made:
    """Twenty thousand keys that no plan has, the last of them twice."""
    keys = b"".join(b'"%x":0,' % number for number in range(20_000))
    return b"{" + keys + b'"x":0,"x":0,' + case.plan()[1:]


@kind("plans", "plan", _PLAN, dear=True)
async def edges_by_the_ten_thousand(case: Planning) -> Made:
    """Ten steps, and ten thousand edges between the same two of them."""
    nodes = [step(f"s{number}") for number in range(_STEPS)]
    return case.unsigned(nodes, [("s0", "s1")] * 10_000)


@kind("plans", "plan", Reason.PARSE_DUPLICATE_KEY, dear=True)
async def params_with_a_duplicate_at_their_end(case: Planning) -> Made:
    """Params of fifteen kilobytes of keys, the last of them twice."""
    keys = b"".join(b'"%x":0,' % number for number in range(1_800))
    return case.plan().replace(b'"params":{', b'"params":{' + keys + b'"x":0,"x":0', 1)


@kind("plans", "plan", Reason.PARSE_TOO_DEEP)
async def plan_too_deep(case: Planning) -> Made:
    """Params of a thousand levels."""
    return case.plan().replace(b'"params":{', b'"params":{"x":' + b"[" * 1_000 + b"]" * 1_000, 1)


@kind("plans", "plan", Reason.PARSE_TOO_LARGE)
async def plan_too_large(case: Planning) -> Made:
    """A byte more than a plan may have."""
    return case.plan().ljust(MAX_PLAN_BODY + 1)


@kind("plans", "plan", _PLAN)
async def no_graph(case: Planning) -> Made:
    """A cycle, an edge to itself or to nowhere, a name twice, no steps, eleven of them."""
    two = [step("a"), step("b")]
    loop, lost = [("a", "b"), ("b", "a")], [("a", "c")]
    eleven = [step(str(number)) for number in range(_STEPS + 1)]
    bad = [(two, loop), (two, [("a", "a")]), (two, lost), ([step("a")] * 2, []), (eleven, [])]
    nodes, edges = case.rng.choice(bad)
    return case.unsigned(nodes, edges)


@kind("plans", "plan", _PLAN)
async def names_that_want_to_be_shown(case: Planning) -> Made:
    """Steps named in escape codes, blanks, or thousands of letters."""
    return case.unsigned([step(case.rng.choice([everything(), " ", "a" * 4_000, "a\n", "\u202e"]))])


@kind("plans", "plan", _PLAN)
async def broken_references(case: Planning) -> Made:
    """References to nothing, to oneself, to what comes later, never closed, within one another."""
    texts = ["${", "${find.output.text}", "${x.output.text}", "${" * 5_000, "${find.output.${x}}", "${find.output.a}"]
    return case.unsigned([step("find", {"q": case.rng.choice(texts)})])


@kind("plans", "plan", _PLAN)
async def params_too_large(case: Planning) -> Made:
    """Params of a byte more than is allowed."""
    return case.unsigned([step("find", {"q": "x" * MAX_PARAMS})])


@kind("plans", "plan", _PLAN, SCHEMA)
async def numbers_out_of_range(case: Planning) -> Made:
    """Costs, times and retries that are negative, endless or beyond exact integers."""
    plan = case.plan()
    bad = [(b'"retry_count":0', b'"retry_count":99'), (b'"estimated_cost":0.01', b'"estimated_cost":1e999')]
    odd = [(b'"params":{}', b'"params":{"x":9007199254740993}'), (b'"timeout_seconds":3.0', b'"timeout_seconds":0')]
    old, new = case.rng.choice([*bad, *odd])
    return plan.replace(old, new, 1)


@kind("plans", "plan", Reason.VALIDITY_SERVICE)
async def service_that_is_not_offered(case: Planning) -> Made:
    """A service or action that nobody offers, under a name that wants to be shown."""
    return case.plan([step("find") | {case.rng.choice(["service", "action"]): injection(case.rng.randrange(99)) + "x"}])


@kind("plans", "plan", Reason.VALIDITY_GOAL, Reason.VALIDITY_NONCE, Reason.VALIDITY_SCORING_VERSION)
async def plan_for_another_dispatch(case: Planning) -> Made:
    """Another goal, an old nonce, another scoring version."""
    other: list[dict[str, Any]] = [{"about": {"nonce": "0" * 64}}, {"about": {"goal_sha256": "0" * 64}}]
    return case.plan(**case.rng.choice([*other, {"scoring_version": everything()}]))


@kind("plans", "plan", Reason.VALIDITY_SIGNATURE, Reason.VALIDITY_HOTKEY)
async def plan_signed_by_another(case: Planning) -> Made:
    """A plan that nobody signed, or another miner."""
    return case.unsigned(signature={"hotkey": case.signer.hotkey, "crypto": "sr25519", "value": "0x" + "1" * 128})


@kind("plans", "plan", ACCEPTED, dear=True)
async def outputs_multiplied(case: Planning) -> Made:
    """Ten steps that each put the earlier outputs in by the hundred: what is bounded is their sum."""
    reference = "".join("${find.output.text}" for _ in range(700))
    return case.plan([step("find", timeout=3.0), step("more", {"q": reference}, timeout=3.0)], [("find", "more")])


@kind("plans", "plan", ACCEPTED, dear=True)
async def params_of_combining_marks(case: Planning) -> Made:
    """Ten steps with as many params as allowed, of empty lists and of combining marks."""
    marks = "\u0301\u0316" * 3_500
    lists: list[list[int]] = [[]] * 5_000
    params: list[dict[str, Any]] = [{"q": marks}, {"q": lists}]
    return case.plan([step(f"s{number}", params[number % 2], timeout=3.0) for number in range(_STEPS)])


@kind("plans", "plan", ACCEPTED)
async def as_many_tries_as_allowed(case: Planning) -> Made:
    """Ten steps at once, each with five retries of as long as may be."""
    return case.plan([step(f"s{number}", retries=5, timeout=300.0) for number in range(_STEPS)])


@kind("plans", "plan", Reason.DEADLINE_LATE, waits=True)
async def plan_that_never_comes(case: Planning) -> Made:
    """No answer until after the deadline."""
    await asyncio.sleep(case.dispatch.deadline_s + 1)
    return web.Response()
