"""Whether an engine can hold every limit of a sandbox: nothing is run on one that cannot."""

from collections.abc import Mapping
from typing import Any, Final

from validator.executions.sandbox.contract import PLATFORM

_LIMITS: Final = {
    "MemoryLimit": "a limit of memory",
    "SwapLimit": "a limit of swap (on cgroup v1 the kernel parameter swapaccount=1)",
    "CpuCfsQuota": "a limit of CPU time",
    "PidsLimit": "a limit of processes",
}


def lacks(info: Mapping[str, Any], runtime: str | None) -> list[str]:
    """Return what the engine cannot do, in words; empty if it is fit.

    Args:
        info: what the engine says of itself.
        runtime: the OCI runtime that images shall run in; None for the engine's own.
    """
    found = [words for name, words in _LIMITS.items() if info.get(name) is not True]
    platform = (info.get("OSType"), info.get("Architecture"))
    if platform != PLATFORM:
        found.append(f"images for {'/'.join(PLATFORM)}")
    options = [str(option).split(",") for option in info.get("SecurityOptions") or []]
    if not any("name=seccomp" in option and "profile=unconfined" not in option for option in options):
        found.append("a seccomp profile")
    if runtime is not None and runtime not in (info.get("Runtimes") or {}):
        found.append(f"the runtime {runtime}")
    return found
