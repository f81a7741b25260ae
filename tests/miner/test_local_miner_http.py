import base64
import gzip
import io
from collections.abc import Callable
from datetime import datetime, timedelta

import aiohttp
import msgspec
import pytest
from bittensor import http_auth
from miner_kit import NONCE, VALIDATOR, Bench, bench, job

from miner.behaviours import answer_thoroughly
from miner.requests import MAX_DISPATCH, DispatchRefusedError, open_dispatch
from sssa.kinds.assessment.requests import dispatch_bodies
from sssa.protocol.answer import Dispatch
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.capabilities import parse_capabilities
from sssa.protocol.reasons import Reason
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import SystemClock

STRANGER = Signer.from_uri("//Stranger")
JOB = job({"SKILL.md": b"# Greeter\n\nSay hello.\n"}, SkillType.DECLARATIVE)
BODY = dispatch_bodies(JOB.round_id, UNPUBLISHED, JOB.task, JOB.bundle)["auditor"]
PATH = "/v1/assessments"


def headers(
    to: Bench, *, signer: Signer = VALIDATOR, path: str = PATH, body: bytes = BODY, **more: int
) -> dict[str, str]:
    return http_auth.sign(
        signer.keypair,
        method="POST",
        path=path,
        body=body,
        receiver_ss58=to.miner.hotkey,
        nonce_ns=more.get("nonce_ns"),
    )


async def send(to: Bench, signed: dict[str, str], body: bytes = BODY, path: str = PATH) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session:
        url = f"http://{to.axon.ip}:{to.axon.port}{path}"
        async with session.post(url, data=io.BytesIO(body), headers=signed) as response:
            return response.status, await response.read()


async def test_the_declaration_is_signed_and_good_for_twelve_hours() -> None:
    async with bench(answer_thoroughly, max_concurrent=3) as miner:
        reply = await miner.capabilities()
        assert reply.body is not None
        document = parse_capabilities(reply.body.read(), hotkey=miner.miner.hotkey, now=SystemClock().now())
    assert document.usable_types == ASSESSED_TYPES
    assert document.concurrency == 3


async def test_the_declaration_is_made_anew_for_each_request() -> None:
    class Shifted(SystemClock):
        hours = 0.0

        def now(self) -> datetime:
            return super().now() + timedelta(hours=self.hours)

    clock = Shifted()
    async with bench(answer_thoroughly, clock=clock) as miner:
        expiries = []
        for hours in (0, 11):
            clock.hours = hours
            signed = http_auth.sign(
                VALIDATOR.keypair,
                method="GET",
                path="/v1/capabilities",
                receiver_ss58=miner.miner.hotkey,
                nonce_ns=int(clock.now().timestamp() * 1e9),
            )
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://{miner.axon.ip}:{miner.axon.port}/v1/capabilities", headers=signed) as response,
            ):
                body = await response.read()
            document = parse_capabilities(body, hotkey=miner.miner.hotkey, now=clock.now())
            expiries.append(document.expires_at)
    assert expiries[0] < expiries[1]


async def test_a_mortal_miner_declares_itself_and_is_gone() -> None:
    async with bench(answer_thoroughly, dies_after=[VALIDATOR.hotkey]) as miner:
        assert (await miner.capabilities()).status == 200
        assert (await miner.ask(JOB, "auditor")).judged.reason == Reason.DEADLINE_CONNECT


async def test_a_signed_dispatch_is_answered_once() -> None:
    async with bench(answer_thoroughly) as miner:
        signed = headers(miner)
        status, body = await send(miner, signed)
        assert (status, b"sssa" in body) == (200, True)
        assert (await send(miner, signed))[0] == 401  # the same nonce again


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda miner: {}, 403),
        (lambda miner: headers(miner, signer=STRANGER), 403),
        (lambda miner: {**headers(miner, signer=STRANGER), "X-Bittensor-Hotkey": VALIDATOR.hotkey}, 401),
        (lambda miner: {**headers(miner), "X-Bittensor-Receiver": STRANGER.hotkey}, 401),
        (lambda miner: {k: v for k, v in headers(miner).items() if k != "X-Bittensor-Receiver"}, 401),
        (lambda miner: headers(miner, nonce_ns=1_700_000_000_000_000_000), 401),
        (lambda miner: headers(miner, body=BODY + b" "), 401),
        (lambda miner: headers(miner, path="/v1/capabilities"), 401),
        (lambda miner: {**headers(miner), "X-Bittensor-Crypto": "ed25519"}, 401),
        (lambda miner: {**headers(miner), "X-Bittensor-Signature": "0xzz"}, 401),
        (lambda miner: {**headers(miner), "X-Bittensor-Nonce": "1e9"}, 401),
    ],
)
async def test_other_requests_are_refused(change: Callable[[Bench], dict[str, str]], status: int) -> None:
    async with bench(answer_thoroughly) as miner:
        got, body = await send(miner, change(miner))
        assert got == status
        assert set(msgspec.json.decode(body)) == {"error"}


async def test_capabilities_are_for_validators_only() -> None:
    async with (
        bench(answer_thoroughly) as miner,
        aiohttp.ClientSession() as session,
        session.get(f"http://{miner.axon.ip}:{miner.axon.port}/v1/capabilities") as response,
    ):
        assert response.status == 403


async def test_a_body_over_the_limit_is_not_read_to_its_end() -> None:
    body = b"x" * (MAX_DISPATCH + 1)
    async with bench(answer_thoroughly) as miner:
        assert (await send(miner, headers(miner, body=body), body))[0] == 413


async def test_compressed_requests_are_not_inflated() -> None:
    body = gzip.compress(BODY)
    async with bench(answer_thoroughly) as miner:
        signed = {**headers(miner, body=body), "Content-Encoding": "gzip"}
        assert (await send(miner, signed, body))[0] == 400


async def test_what_is_no_dispatch_gets_a_reason() -> None:
    async with bench(answer_thoroughly) as miner:
        status, body = await send(miner, headers(miner, body=b"{}"), b"{}")
        assert status == 400
        assert "round_id" in msgspec.json.decode(body)["error"]
        assert (await send(miner, headers(miner), path="/v1/other"))[0] == 404


def changed(**fields: object) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(msgspec.json.decode(BODY, type=Dispatch), **fields))


def other_probe(field: str, value: str) -> bytes:
    spec = msgspec.json.decode(BODY, type=Dispatch).probe_spec
    return changed(probe_spec=msgspec.structs.replace(spec, **{field: value}))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"[]", "array"),
        (BODY + b"x", "trailing"),
        (changed(bundle="%%%%"), "padded base64"),
        (changed(bundle_sha256="0" * 64), "bundle_sha256"),
        (changed(bundle=base64.b64encode(b"no tar").decode(), bundle_sha256=sha256_hex(b"no tar")), "bundle"),
        (changed(nonce="00" * 32), "probe_spec"),
        (other_probe("file_path", "/etc/cron.d/x"), "probe_spec"),
        (other_probe("process_echo", "rm -rf /"), "probe_spec"),
    ],
)
def test_dispatches_are_checked_before_anybody_works_with_them(body: bytes, field: str) -> None:
    with pytest.raises(DispatchRefusedError, match=field):
        open_dispatch(body)


def test_a_dispatch_is_opened_with_its_files() -> None:
    opened = open_dispatch(BODY)
    assert opened.files == {"SKILL.md": b"# Greeter\n\nSay hello.\n"}
    assert opened.dispatch.nonce == NONCE
