"""Eight of nine miners fail: a whole daemon says so before its next vector, and stays healthy; on virtual time."""

from typing import Any, cast

import aiohttp
from daemon_kit import Running, with_miners
from world import World, honest, tasks_of_all_types

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from validator.health.endpoint import HealthService
from validator.miners.scripted import ScriptedReply
from validator.tasks.source import MemorySource

OWNER = "Owner"
BROKEN = ScriptedReply(b"", status=500, seconds=0.5)
ALL = ("miners_out", "weights_few_paid", "weights_concentrated")


async def statuses(daemon: Running) -> tuple[int, int]:
    """HTTP status of /readyz and of /healthz."""
    service = next(service for service in daemon.daemon.services if isinstance(service, HealthService))
    host, port = service.address
    found = []
    async with aiohttp.ClientSession() as session:
        for path in ("readyz", "healthz"):
            async with session.get(f"http://{host}:{port}/{path}") as response:
                found.append(response.status)
    return found[0], found[1]


def named(report: Any) -> dict[str, str]:
    return {each["name"]: each["detail"] for each in report["conditions"] if each["severity"] == "degraded"}


async def test_what_eight_of_nine_miners_lose_is_named_before_each_vector(store_url: str) -> None:
    broken: set[str] = set()

    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        return BROKEN if signer.hotkey in broken else honest(signer, dispatch)

    source = MemorySource(tasks_of_all_types())
    crowd = World(cast("Any", None), miners=9, script=script, source=source, tempo=59, owner_hotkey=OWNER)
    crowd.subnet.register(OWNER)
    own = {"rounds": {"interval_s": 6.0}, "weights": {"blocks_before_epoch_end": 8}, "scoring": {}}
    async with with_miners(store_url, crowd, **own) as daemon:

        async def rounds(count: int) -> Any:
            ended = len(daemon.events("round_settled"))
            await daemon.until(lambda: len(daemon.events("round_settled")) >= ended + count)
            return await daemon.health()

        assert named(await rounds(3)) == {}
        broken |= {*crowd.signers} - {min(crowd.signers)}
        report = await rounds(1)
        detail = (
            "8 of 9 miners that answered in the last day are out (0 excluded, 8 failing), most of them since round 3; "
            "cause unknown: chain and tasks are on this machine"
        )
        assert (report["status"], named(report)) == ("degraded", {"miners_out": detail})
        await rounds(4)
        broken.clear()  # the outage is over, and they are excluded: who is left takes all there is
        await daemon.until(lambda: bool(daemon.events("weights_submitted")))
        report = await daemon.health()
        assert [*named(report)] == [*ALL]
        assert report["checks"]["miners"]["excluded"] > 9 / 2
        assert report["checks"]["pay"]["paid"] < 7
        assert "the subnet's owner, Owner (uid 10)" in named(report)["weights_concentrated"]
        assert await statuses(daemon) == (200, 200)
        metrics = daemon.metrics.render().decode()
        await daemon.until(lambda: len(daemon.events("weights_submitted")) == 2)
        kept = {one for one in crowd.signers if f'validator_kept_bytes{{hotkey="{one}"}}' in metrics}
        assert kept == {*crowd.signers}
        (sent, again) = (line["uids"] for line in daemon.events("weights_submitted"))
        order = [line.get("condition", line["event"]) for line in daemon.log if line["log_level"] != "error"]
    for name in ALL:
        assert f'validator_condition{{condition="{name}"}} 1.0' in metrics
        assert order.count(name) == 1  # once per cause, however many rounds and vectors
        assert order.index(name) < order.index("weights_submitted")
    assert sent["10"] == again["10"] > 0.5  # told, not kept back
