"""Events visible only inside a Python skill's process: imports, environment reads, name lookups.

Code of the bundle could write such lines itself, or keep this from writing them. So nothing that the watcher sees is
taken from here, and a name that is looked up without Python shows in the packet to the name server.
"""

from __future__ import annotations

import builtins
import os
import sys

TYPE_CHECKING = False  # importing typing would cost more than the whole module
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tracer.inside.recorder import Recorder

_SECRET_NAMES = (
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
)
_SERVICES = {"http": 80, "https": 443, "ssh": 22, "ftp": 21, "smtp": 25, "domain": 53}
_STREAM, _DATAGRAM = 1, 2
_DNS_PORT = 53
_NO_SUCH_NAME = -2
_OS_MODULES = ("<frozen os>", "<frozen _collections_abc>", os.__file__)
_RESOLVED = frozenset(("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"))


class Auditor:
    """Turns audit events (PEP 578), imports and reads of variables into records. A lookup is recorded and refused.

    Args:
        recorder: where the records go.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def install(self) -> None:
        """Watch this process from now on."""
        sys.addaudithook(self._hook)
        builtins.__import__ = self._watched_import(builtins.__import__)
        os.environ.__class__ = _watched_environment(self)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _RESOLVED:
            self.resolve(*args)

    def resolve(self, host: object, port: object = None, _family: int = 0, kind: int = 0, *_: object) -> None:
        """Record a lookup and refuse it.

        Raises:
            socket.gaierror: it was recorded.
        """
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if not isinstance(name, str):
            return
        from _socket import gaierror  # noqa: PLC0415 - loaded already where this is an event

        number = _port(port)
        proto = {_STREAM: "tcp", _DATAGRAM: "udp"}.get(kind, "dns") if number else "dns"
        self.recorder.write("network", domain=name, dst_port=number or _DNS_PORT, proto=proto)
        raise gaierror(_NO_SUCH_NAME, "Name or service not known")

    def read_variable(self, name: str) -> None:
        """Record that the bundle asked for the environment variable `name`, if it looks like a secret's."""
        if not any(word in name.upper() for word in _SECRET_NAMES):
            return
        frame = sys._getframe(2)  # noqa: SLF001 - the documented way to the caller
        while frame.f_back is not None and frame.f_code.co_filename in _OS_MODULES:
            frame = frame.f_back
        if self.recorder.from_bundle(frame):
            self.recorder.write("secrets", type="env", pattern=name)

    def _watched_import(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def import_(
            name: str,
            globals: Mapping[str, object] | None = None,  # noqa: A002 - the signature is the language's
            locals: Mapping[str, object] | None = None,  # noqa: A002 - the signature is the language's
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            watched = self.recorder.from_bundle(sys._getframe(1))  # noqa: SLF001 - as above
            if watched:
                self._note_import(_absolute(name, globals, level))
            module = original(name, globals, locals, fromlist, level)
            if watched:
                for item in fromlist or ():
                    if isinstance(getattr(module, item, None), type(sys)):
                        self._note_import(f"{_absolute(name, globals, level)}.{item}")
            return module

        return import_

    def _note_import(self, name: str) -> None:
        self.recorder.write("imports", module=name)


def _port(value: object) -> int | None:
    if isinstance(value, bytes):
        value = value.decode("ascii", "replace")
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() else _SERVICES.get(value)
    return value if isinstance(value, int) else None


def _absolute(name: str, namespace: Mapping[str, object] | None, level: int) -> str:
    if not level:
        return name
    package = str((namespace or {}).get("__package__") or "")
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{name}" if name and base else base or name


def _watched_environment(auditor: Auditor) -> type[os._Environ[str]]:
    class Watched(os._Environ[str]):  # noqa: SLF001 - reading a variable raises no audit event
        def __getitem__(self, key: str) -> str:
            auditor.read_variable(key)
            return super().__getitem__(key)

    return Watched
