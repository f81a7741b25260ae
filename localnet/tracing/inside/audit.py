"""What a Python skill does, seen through audit events (PEP 578), the import statement and the environment."""

from __future__ import annotations

import builtins
import os
import sys

TYPE_CHECKING = False  # importing typing would cost more than the whole module
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from localnet.tracing.inside.recorder import Recorder

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
SECRET_FILES = (".env", "id_rsa", "id_ed25519", ".netrc", ".pgpass", "shadow", "credentials", ".npmrc", ".pypirc")
_SERVICES = {"http": 80, "https": 443, "ssh": 22, "ftp": 21, "smtp": 25, "domain": 53}
_STREAM, _DATAGRAM = 1, 2
_DNS_PORT = 53
_NO_SUCH_NAME = -2
_NETWORK_UNREACHABLE = 101
_PLAIN = "@%+=:,./-_~"
_OS_MODULES = ("<frozen os>", "<frozen _collections_abc>", os.__file__)


class Auditor:
    """Turns audit events into records. Looking a name up or connecting is recorded and refused.

    Args:
        recorder: where the records go.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.watching = False
        self._installed = False
        self.refuses_names = True
        self.handlers: dict[str, Callable[..., None]] = {
            "open": self._open,
            "os.listdir": self._plain_fs("list"),
            "os.scandir": self._plain_fs("list"),
            "os.remove": self._plain_fs("delete"),
            "os.rmdir": self._plain_fs("delete"),
            "os.mkdir": self._plain_fs("write"),
            "os.truncate": self._plain_fs("write"),
            "os.chmod": self._plain_fs("chmod"),
            "os.rename": self._rename,
            "os.link": self._link,
            "os.symlink": self._link,
            "socket.getaddrinfo": self._resolve,
            "socket.gethostbyname": self._resolve,
            "socket.gethostbyaddr": self._resolve,
            "socket.connect": self._connect,
            "socket.sendto": self._connect,
            "socket.sendmsg": self._connect,
            "subprocess.Popen": self._spawn,
            "os.exec": self._spawn,
            "os.posix_spawn": self._spawn,
            "os.spawn": self._spawn_mode,
            "os.system": self._system,
        }

    def install(self) -> None:
        """Begin to watch this process, or go on watching it: an audit hook cannot be taken out again."""
        if not self._installed:
            sys.addaudithook(self._hook)
            builtins.__import__ = self._watched_import(builtins.__import__)
            os.environ.__class__ = _watched_environment(self)
        self._installed = self.watching = True

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        handler = self.handlers.get(event)
        if handler is not None and self.watching:
            handler(*args)

    def _fs(self, op: str, value: object) -> None:
        path = self.recorder.path(value)
        if path is None:
            return
        self.recorder.write("fs", op=op, path=path)
        if op == "read" and path.endswith(SECRET_FILES):
            self.recorder.write("secrets", type="file", pattern=path)

    def _plain_fs(self, op: str) -> Callable[..., None]:
        def handle(path: object = ".", *_: object) -> None:
            if not self.recorder.quiet(sys._getframe(2)):  # noqa: SLF001 - the documented way to the caller
                self._fs(op, "." if path is None else path)

        return handle

    def _open(self, path: object, mode: str | None, flags: int) -> None:
        if self.recorder.quiet(sys._getframe(2)):  # noqa: SLF001 - the documented way to the caller
            return
        writes = any(c in mode for c in "wax+") if mode else flags & (os.O_WRONLY | os.O_RDWR)
        self._fs("write" if writes else "read", path)

    def _rename(self, source: object, target: object, *_: object) -> None:
        self._fs("delete", source)
        self._fs("write", target)

    def _link(self, source: object, target: object, *_: object) -> None:
        self._fs("read", source)
        self._fs("write", target)

    def _resolve(self, host: object, port: object = None, _family: int = 0, kind: int = 0, *_: object) -> None:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if not isinstance(name, str):
            return
        number = _port(port)
        proto = {_STREAM: "tcp", _DATAGRAM: "udp"}.get(kind, "dns") if number else "dns"
        self.recorder.write("network", domain=name, dst_port=number or _DNS_PORT, proto=proto)
        if self.refuses_names:
            from _socket import gaierror  # noqa: PLC0415 - loaded already, since it raised this event

            raise gaierror(_NO_SUCH_NAME, "Name or service not known")

    def _connect(self, socket: Any, address: object = None, *_: object) -> None:
        if address is None:
            return
        proto = "udp" if socket.type == _DATAGRAM else "tcp"
        if isinstance(address, tuple):
            self.recorder.write("network", dst_ip=str(address[0]), dst_port=_port(address[1]), proto=proto)
        else:
            self.recorder.write("network", dst_ip=f"unix:{os.fsdecode(address)}", proto=proto)  # type: ignore[arg-type]
        raise OSError(_NETWORK_UNREACHABLE, "Network is unreachable")

    def _spawn(self, path: object, args: object, *_: object) -> None:
        words = [args] if isinstance(args, str | bytes | os.PathLike) else list(args or [path])  # type: ignore[call-overload]
        self.recorder.write("process", cmd=command_text(words))

    def _spawn_mode(self, _mode: int, path: object, args: object, *_: object) -> None:
        self._spawn(path, args)

    def _system(self, command: bytes) -> None:
        self.recorder.write("process", cmd="sh -c " + _quoted(os.fsdecode(command)))

    def read_variable(self, name: str) -> None:
        """Record that the bundle asked for the environment variable `name`, if it looks like a secret's."""
        if not self.watching or not any(word in name.upper() for word in _SECRET_NAMES):
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
            watched = self.watching and self.recorder.from_bundle(sys._getframe(1))  # noqa: SLF001 - as above
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


def command_text(words: Sequence[object]) -> str:
    """Return the words as one shell line; this interpreter's own path is written `python3`."""
    texts = [os.fsdecode(word) if isinstance(word, str | bytes | os.PathLike) else str(word) for word in words]
    return " ".join("python3" if text == sys.executable else _quoted(text) for text in texts)


def _quoted(text: str) -> str:
    if text and all((c.isascii() and c.isalnum()) or c in _PLAIN for c in text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


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
