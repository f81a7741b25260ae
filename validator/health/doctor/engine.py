"""The container engine on which answers are run again (SPEC 15)."""

from typing import Final

from validator.health.doctor.finding import Check, Finding, fault, note, ok
from validator.health.doctor.site import LIMITS, Site
from validator.protocol.text import printable
from validator.sandbox.engine import Engine, EngineAwayError, EngineError, lacks

_AWAY: Final = "start it, let this user use its socket (its group), or correct sandbox.engine or DOCKER_HOST"
_NONE: Final = "set sandbox.engine to have answers run again (docs/operators/sandbox.md)"


async def _look(site: Site) -> list[Finding]:
    sandbox = site.settings.sandbox
    host = sandbox.engine or site.environ.get("DOCKER_HOST")
    if not host:
        return [note("engine", "none: whether miners ran what they attest stays unseen", _NONE)]
    shown = printable(host, 100)
    engine = Engine(host, call_s=site.limits.engine)
    try:
        info = await engine.info()
    except EngineAwayError as error:
        return [fault("engine", f"{shown}: {error.detail}", _AWAY)]
    except EngineError as error:
        return [fault("engine", f"{shown}: {error}", "look into the engine's log")]
    finally:
        await engine.close()
    if missing := lacks(info, sandbox.runtime):
        advice = "set the engine up as its manual says: cgroups with memory, pids and cpu, the default seccomp profile"
        return [fault("engine", f"{shown} lacks {', '.join(missing)}", advice)]
    version, runtime = printable(str(info.get("ServerVersion")), 40), sandbox.runtime or info.get("DefaultRuntime")
    return [ok("engine", f"{shown}: version {version}, runtime {printable(str(runtime), 40)}")]


CHECK: Final = Check(
    "engine",
    "The container engine that runs answers again: reachable, and able to hold every limit.",
    _AWAY,
    LIMITS.engine + 2.0,
    _look,
)
