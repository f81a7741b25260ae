"""Fixtures of `make bench ONLY=gates,round`: answers that pass their gates, and miners that give them."""

import msgspec
import pytest
from aiohttp import web
from builders import FILES, expect, make_task
from samples.calls import SIGNER
from samples.honest_miners import Miners, signers
from samples.traced_answer import BYTES, traced

from sssa.kinds.assessment.judge import judge
from sssa.kinds.assessment.requests import requests
from sssa.protocol.archives import pack
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import SkillType
from validator.miners.client import HttpMinerClient
from validator.outgoing.calls import Call


def test_the_traced_answer_is_honest_and_of_the_size_that_its_name_says() -> None:
    expected, answer, files = traced()
    assert judge(expected, msgspec.json.encode(answer), 1.5).reason == Reason.ACCEPTED
    assert BYTES <= sum(map(len, files.values())) < 1.01 * BYTES


@pytest.mark.parametrize("kind", [SkillType.DECLARATIVE, SkillType.EXECUTABLE_PYTHON])
async def test_miners_of_whole_rounds_give_answers_that_pass(kind: SkillType) -> None:
    (hotkey,), task = signers(1), make_task(kind)
    request = requests("0", UNPUBLISHED, task, pack(FILES))["primary"]
    runner, client = web.AppRunner(Miners(1, 0.0).application()), HttpMinerClient(SIGNER, allow_private=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        axon = Axon("127.0.0.1", runner.addresses[0][1])
        reply = await client.post(Call(hotkey, axon, request.path, request.whole, 10.0, request.limit))
    finally:
        await client.close()
        await runner.cleanup()
    assert reply.body is not None
    with reply.body as body:
        assert judge(expect(task, "primary", hotkey), body.read(), 2.0).reason == Reason.ACCEPTED
