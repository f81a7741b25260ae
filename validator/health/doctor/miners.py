"""Miners: how many of those registered answer with a declaration that counts, and why the others do not (SPEC 13)."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from validator.health.doctor.finding import Check, Finding, NotLookedAtError, note, ok, warning
from validator.health.doctor.site import LIMITS, Site
from validator.health.doctor.subnet import seen_subnet
from validator.health.rounds import counted
from validator.miners.asking import Declaration, ask_declaration
from validator.miners.client import HttpMinerClient
from validator.protocol.reasons import Reason
from validator.protocol.round import Axon
from validator.protocol.signatures import Signer

_OPEN: Final = 64
_CONNECT_S: Final = 4.0
_THEIRS: Final = "nothing, if they are few: these miners are offline or send what does not count"
_NO_AXON: Final = "wait for miners: none has announced an address on chain (validator.netuid, is it the right subnet?)"
_ADVICE: Final[Mapping[Reason, str]] = {
    Reason.DECLARATION_FUTURE: "compare this machine's clock with a time server (`timedatectl`)",
    Reason.DECLARATION_EXPIRED: "compare this machine's clock with a time server (`timedatectl`)",
    Reason.DEADLINE_AXON_REFUSED: "nothing: they announce private addresses, which are called in local networks only",
    Reason.DEADLINE_CONNECT: "look at this machine's way out: a firewall, a proxy, no IPv6",
    Reason.LOCAL_RESOURCES: "raise the limit of file descriptors (`ulimit -n`), free memory and disk",
}


async def _look(site: Site) -> list[Finding]:
    snapshot = (await seen_subnet(site)).snapshot
    if site.signer is None:
        raise NotLookedAtError("needs the hotkey, which cannot be read, to sign what it asks")
    listening = [
        (one.hotkey, one.axon) for one in snapshot.neurons if one.axon is not None and one.hotkey != site.signer.hotkey
    ]
    if not listening:
        return [note("miners", f"none of {len(snapshot.neurons)} neurons has an address", _NO_AXON)]
    answers = await _asked(site, site.signer, listening)
    return [_judged(len(listening), answers)]


async def _asked(site: Site, signer: Signer, listening: Sequence[tuple[str, Axon]]) -> list[Declaration | Reason]:
    """Return what came back in time; nothing of it is stored."""
    client = HttpMinerClient(
        signer, max_open=_OPEN, connect_timeout_s=_CONNECT_S, allow_private=site.settings.miners.allow_private_axons
    )
    workers = site.workers()
    asking = [
        asyncio.create_task(ask_declaration(client, workers, site.clock, hotkey, axon)) for hotkey, axon in listening
    ]
    try:
        done, late = await asyncio.wait(asking, timeout=site.limits.miners)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return [task.result() for task in asking if task in done]
    finally:
        await client.close()
        await workers.close()


def _judged(asked: int, answers: Sequence[Declaration | Reason]) -> Finding:
    refused = Counter(answer for answer in answers if isinstance(answer, Reason))
    valid = len(answers) - refused.total()
    why = f"; the others: {counted(refused)}" if refused else ""
    late = f"; {asked - len(answers)} had not answered when time was up" if asked > len(answers) else ""
    seen = f"{valid} of {asked} that have an address answer with a declaration that counts{why}{late}"
    if 2 * valid >= asked:
        return ok("miners", seen)
    most = refused.most_common(1)[0][0] if refused else None
    return warning("miners", seen, _THEIRS if most is None else _ADVICE.get(most, _THEIRS))


CHECK: Final = Check(
    "miners",
    "How many registered miners answer with a declaration that counts, and why the others do not.",
    "look at this machine's way out",
    LIMITS.whole,
    _look,
)
