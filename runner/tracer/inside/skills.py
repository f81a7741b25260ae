"""Starting a skill in this process: a Python function, a server script, or another program in its place."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing would cost more than the whole module
if TYPE_CHECKING:
    from tracer.inside.audit import Auditor

BASH = "/bin/bash"
_BASH_FD = 20
_JAVASCRIPT = (".js", ".mjs", ".cjs")


def run_function(auditor: Auditor, folder: str, entry: str) -> None:
    """Import `module` from `folder` and call `function` of the entry point `module:function`, without arguments."""
    module_name, _, function_name = entry.partition(":")
    sys.path.insert(0, folder)
    sys.argv = [module_name]
    auditor.install()
    __import__(module_name)
    target: object = sys.modules[module_name]
    for part in function_name.split("."):
        target = getattr(target, part)
    target()  # type: ignore[operator]


def run_server(auditor: Auditor, folder: str, entry: str) -> None:
    """Run the script `entry` of `folder` as `__main__`; it speaks over stdin and stdout until stdin ends."""
    path = os.path.join(folder, entry)  # noqa: PTH118 - pathlib would cost each run milliseconds
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        code = compile(file.read(), path, "exec")
    sys.path.insert(0, os.path.dirname(path))  # noqa: PTH120 - as above
    sys.argv = [path]
    module = type(sys)("__main__")
    module.__dict__["__file__"] = path
    sys.modules["__main__"] = module
    auditor.install()
    exec(code, module.__dict__)  # noqa: S102 - running the bundle is what this process is for


def program_of(mode: str, entry: str) -> list[str]:
    """Return the command that runs an entry point in this process's place; empty for one that Python runs itself."""
    if mode not in ("script", "server"):
        return []
    if entry.endswith(_JAVASCRIPT):
        return ["node", entry]
    if mode == "server":
        return []
    return ["python3" if entry.endswith(".py") else "bash", entry]


def become(command: list[str], fd: int, trace_setup: str) -> None:
    """Replace this process by a program; what bash is about to run goes to `fd`, set up by `trace_setup`."""
    name = command[0]
    if name == "bash":
        os.dup2(fd, _BASH_FD, inheritable=True)
        environment = {**os.environ, "BASH_ENV": trace_setup, "SSSA_TRACE_FD": str(_BASH_FD)}
        os.execve(BASH, command, environment)  # noqa: S606 - no shell in between
    program = sys.executable if name == "python3" else _path_of(name)
    os.execve(program, command, os.environ)  # noqa: S606 - as above


def _path_of(name: str) -> str:
    for folder in ("/usr/local/bin", "/usr/bin", "/bin"):
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    raise FileNotFoundError(name)
