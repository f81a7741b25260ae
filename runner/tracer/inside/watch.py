"""The watcher: follows every process of a skill by ptrace and records what it asks the kernel for (SPEC 5, 15).

It needs no privilege: it follows processes that it started. A call that counts stops before the kernel looks at it; the
watcher reads its arguments, records them, and lets it continue or answers in the kernel's place: no connection is made.
A process whose call cannot be read is killed; a run that has recorded its share ends.
"""

from __future__ import annotations

import ctypes
import os
import posixpath
import struct
import sys

from tracer.inside.barrier import NO_AUTOMOUNT
from tracer.inside.recorder import NAMELESS, FullError

TYPE_CHECKING = False  # importing typing would cost more than the whole module
if TYPE_CHECKING:
    from collections.abc import Callable

    from tracer.inside.recorder import Recorder

_TRACEME, _PEEKDATA, _POKEDATA, _CONT, _GETREGS, _SETREGS, _SETOPTIONS = 0, 2, 5, 7, 12, 13, 0x4200
_FOLLOW = 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000  # fork, vfork, clone, exec, seccomp; all end with the watcher
_ON_SECCOMP = 7
_ALL = 0x40000000  # waitpid: threads, too
_NUMBER, _RESULT = 15, 10  # registers
_STAT = 262
_ARGUMENTS = (14, 13, 12, 7, 9, 8)
_TRAP, _KILL, _STOP = 5, 9, 19
_STOPPING = (_STOP, 20, 21, 22, _TRAP)  # SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
_HERE = -100  # AT_FDCWD
_PAGE = 4_096
_MAX_WORDS = 64
_MAX_COMMAND = 1_000
_MAX_PROCESSES = 192  # and threads
_CREATE, _EXCLUSIVE, _TRUNCATE, _DIRECTORY, _UNNAMED, _NAME_ONLY = 0x40, 0x80, 0x200, 0x10000, 0x410000, 0x200000
_ENOENT, _DENIED, _FAULT, _REFUSED, _UNREACHABLE = 2, 13, 14, 111, 101
_DNS = 53
_ONE_PROCESSOR = ("/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/stat")
_SERVICES = ("/var/run/nscd/", "/run/nscd/", "/run/systemd/", "/var/run/systemd/")  # that the C library asks by itself
_MACHINE = b"".join(name.ljust(65, b"\0") for name in (b"Linux", b"sandbox", b"6.1.0", b"#1", b"x86_64", b"(none)"))[
    :384
]


class LostError(Exception):
    """A call cannot be read, or its process is gone."""


class AnswerError(Exception):
    """A call is answered with an error number, and not made."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Watcher:
    """Follows a process and all that it starts.

    Args:
        recorder: where records go.
        unseen: the command that the run itself starts; its first call is no record.
    """

    def __init__(self, recorder: Recorder, unseen: str) -> None:
        self._recorder = recorder
        self._unseen = unseen
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self._libc.ptrace.restype = ctypes.c_long
        self._registers = (ctypes.c_ulonglong * 27)()
        self._known: set[int] = set()
        self._resolving: set[tuple[int, int]] = set()  # thread and socket of a name server's
        self._name_servers = _name_servers()
        self._handlers: dict[int, Callable[[int, list[int]], int | None]] = {
            2: lambda pid, a: self._open(pid, _HERE, a[0], a[1]),
            85: lambda pid, a: self._open(pid, _HERE, a[0], _CREATE | _TRUNCATE | 1),
            257: lambda pid, a: self._open(pid, a[0], a[1], a[2]),
            76: lambda pid, a: self._one("write", pid, _HERE, a[0]),
            82: lambda pid, a: self._two("delete", pid, (_HERE, a[0]), (_HERE, a[1])),
            264: lambda pid, a: self._two("delete", pid, (a[0], a[1]), (a[2], a[3])),
            316: lambda pid, a: self._two("delete", pid, (a[0], a[1]), (a[2], a[3])),
            83: lambda pid, a: self._one("write", pid, _HERE, a[0]),
            258: lambda pid, a: self._one("write", pid, a[0], a[1]),
            84: lambda pid, a: self._one("delete", pid, _HERE, a[0]),
            87: lambda pid, a: self._one("delete", pid, _HERE, a[0]),
            263: lambda pid, a: self._one("delete", pid, a[0], a[1]),
            86: lambda pid, a: self._two("read", pid, (_HERE, a[0]), (_HERE, a[1])),
            265: lambda pid, a: self._two("read", pid, (a[0], a[1]), (a[2], a[3])),
            88: lambda pid, a: self._two("read", pid, (_HERE, a[0]), (_HERE, a[1])),
            266: lambda pid, a: self._two("read", pid, (a[1], a[0]), (a[1], a[2])),
            90: lambda pid, a: self._one("chmod", pid, _HERE, a[0]),
            268: lambda pid, a: self._one("chmod", pid, a[0], a[1]),
            133: lambda pid, a: self._one("write", pid, _HERE, a[0]),
            259: lambda pid, a: self._one("write", pid, a[0], a[1]),
            42: self._connect,
            44: self._send,
            46: lambda pid, a: self._send_message(pid, a[0], a[1]),
            307: lambda pid, a: self._send_message(pid, a[0], a[1]),
            59: lambda pid, a: self._run(pid, _HERE, a[0], a[1]),
            322: lambda pid, a: self._run(pid, a[0], a[1], a[2]),
            63: self._name_machine,
        }

    def attach(self, child: int) -> None:
        """Begin to follow a child that waits for it (`wait_for_watcher`)."""
        os.waitpid(child, _ALL)
        if self._libc.ptrace(_SETOPTIONS, child, None, _FOLLOW):
            raise OSError(ctypes.get_errno(), "a process cannot be followed")
        self._known.add(child)
        self._go_on(child)

    def follow(self, child: int) -> int:
        """Follow until the child has ended; return its exit status, negative for a signal. What it left is killed."""
        try:
            while True:
                pid, status = os.waitpid(-1, _ALL)
                if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                    self._known.discard(pid)
                    if pid == child:
                        return os.waitstatus_to_exitcode(status)
                    continue
                self._stopped(pid, status)
        finally:
            for pid in self._known:
                try:
                    os.kill(pid, _KILL)
                except OSError:
                    continue

    def _stopped(self, pid: int, status: int) -> None:
        self._known.add(pid)
        if len(self._known) > _MAX_PROCESSES:
            raise FullError
        if status >> 16 == _ON_SECCOMP:
            try:
                self._call(pid)
            except LostError:
                os.kill(pid, _KILL)  # what cannot be read is not done
                return
        number = os.WSTOPSIG(status)
        quiet = status >> 16 or number in _STOPPING
        self._go_on(pid, 0 if quiet else number)

    def _go_on(self, pid: int, number: int = 0) -> None:
        self._libc.ptrace(_CONT, pid, None, number)

    def _call(self, pid: int) -> None:
        registers = self._registers
        if self._libc.ptrace(_GETREGS, pid, None, ctypes.addressof(registers)):
            raise LostError
        arguments = [registers[index] for index in _ARGUMENTS]
        if registers[_NUMBER] == _STAT:
            registers[_ARGUMENTS[3]] &= ~NO_AUTOMOUNT
            self._libc.ptrace(_SETREGS, pid, None, ctypes.addressof(registers))
            return
        try:
            answer = self._handlers[registers[_NUMBER]](pid, arguments)
        except AnswerError as error:
            answer = -error.number
        if answer is not None:
            registers[_NUMBER] = registers[_RESULT] = 0xFFFFFFFFFFFFFFFF
            registers[_RESULT] = answer & 0xFFFFFFFFFFFFFFFF
            if self._libc.ptrace(_SETREGS, pid, None, ctypes.addressof(registers)):
                raise LostError

    def _open(self, pid: int, folder: int, address: int, flags: int) -> int | None:
        path = self._path(pid, folder, address)
        if path.startswith(_ONE_PROCESSOR):
            return -_ENOENT
        if flags & _NAME_ONLY:
            return None
        if flags & _UNNAMED == _UNNAMED:  # not every kernel has files without a name
            self._recorder.fs("write", f"{path}/{NAMELESS}")
            self._recorder.fs("delete", f"{path}/{NAMELESS}")
        elif flags & (3 | _TRUNCATE | _CREATE):
            self._recorder.fs("write", path, exclusive=flags & (_CREATE | _EXCLUSIVE) == _CREATE | _EXCLUSIVE)
        else:
            self._recorder.fs("list" if flags & _DIRECTORY else "read", path)
        return None

    def _one(self, op: str, pid: int, folder: int, address: int) -> None:
        self._recorder.fs(op, self._path(pid, folder, address, last=op == "chmod"))

    def _two(self, op: str, pid: int, source: tuple[int, int], target: tuple[int, int]) -> None:
        self._recorder.fs(op, self._path(pid, *source, last=False))
        self._recorder.fs("write", self._path(pid, *target, last=False))

    def _run(self, pid: int, folder: int, address: int, arguments: int) -> None:
        path = self._path(pid, folder, address)
        fields = []
        for at in range(_MAX_WORDS):
            (word,) = struct.unpack("Q", self._memory(pid, arguments + 8 * at, 8)) if arguments else (0,)
            if not word:
                break
            fields.append(os.fsdecode(self._text(pid, word)))
        written = os.fsdecode(self._text(pid, address))
        command = self._recorder.command(path, written, fields[1:])
        if command == self._unseen:
            self._unseen = ""
            return
        self._recorder.write("process", cmd=command[:_MAX_COMMAND])

    def _connect(self, pid: int, arguments: list[int]) -> int | None:
        where = self._address(pid, arguments[1], arguments[2])
        if where is None:
            return None
        if where[1] == _DNS:
            self._resolving.add((pid, arguments[0] & 0xFFFFFFFF))
            self._note_server(where[0])
            return 0  # what is asked there shows when it is sent
        if where[1] is None:
            if not where[0].startswith(_SERVICES):
                self._recorder.write("network", dst_ip=f"unix:{where[0]}", proto="unix")
            return -_ENOENT
        self._recorder.write("network", dst_ip=where[0], dst_port=where[1], proto="tcp")
        return -_UNREACHABLE

    def _send(self, pid: int, arguments: list[int]) -> int | None:
        where = self._address(pid, arguments[4], arguments[5]) if arguments[4] else None
        return self._sent(pid, arguments[0], where, lambda: self._memory(pid, arguments[1], min(arguments[2], 512)))

    def _send_message(self, pid: int, socket: int, message: int) -> int | None:
        name, size, vectors, count = struct.unpack("QI4xQQ", self._memory(pid, message, 32))
        where = self._address(pid, name, size) if name else None

        def data() -> bytes:
            start, length = struct.unpack("QQ", self._memory(pid, vectors, 16)) if count else (0, 0)
            return self._memory(pid, start, min(length, 512)) if length else b""

        return self._sent(pid, socket, where, data)

    def _sent(
        self, pid: int, socket: int, where: tuple[str, int | None] | None, data: Callable[[], bytes]
    ) -> int | None:
        resolving = (pid, socket & 0xFFFFFFFF) in self._resolving
        if where is None and not resolving:
            return None  # to whom it is connected already: a process of the skill
        if resolving or (where and where[1] == _DNS):
            if where:
                self._note_server(where[0])
            name = _queried_name(data())
            if name:
                self._recorder.write("network", domain=name, dst_port=_DNS, proto="dns")
            return -_REFUSED
        if where and where[1] is not None:
            self._recorder.write("network", dst_ip=where[0], dst_port=where[1], proto="udp")
        elif where:
            self._recorder.write("network", dst_ip=f"unix:{where[0]}", proto="unix")
        return -_UNREACHABLE

    def _note_server(self, address: str) -> None:
        if address not in self._name_servers:
            self._recorder.write("network", dst_ip=address, dst_port=_DNS, proto="udp")

    def _name_machine(self, pid: int, arguments: list[int]) -> int:
        """Answer `uname` alike on every machine."""
        for at in range(0, len(_MACHINE), 8):
            word = int.from_bytes(_MACHINE[at : at + 8], "little")
            if self._libc.ptrace(_POKEDATA, pid, arguments[0] + at, word):
                return -_FAULT
        return 0

    def _address(self, pid: int, address: int, size: int) -> tuple[str, int | None] | None:
        """Return host and port, or the path and None; None for what leads nowhere outside the kernel."""
        from _socket import AF_INET, AF_INET6, AF_UNIX, inet_ntop  # noqa: PLC0415 - most runs need none

        data = self._memory(pid, address, min(size & 0xFFFFFFFF, 128)) if size else b""
        if len(data) < 2:  # noqa: PLR2004 - a family
            return None
        family = int.from_bytes(data[:2], "little")
        port = int.from_bytes(data[2:4], "big")
        if family == AF_INET:
            return inet_ntop(AF_INET, data[4:8].ljust(4, b"\0")), port
        if family == AF_INET6:
            return inet_ntop(AF_INET6, data[8:24].ljust(16, b"\0")), port
        if family == AF_UNIX:
            return os.fsdecode(data[2:].lstrip(b"\0").partition(b"\0")[0]), None
        return None

    def _path(self, pid: int, folder: int, address: int, *, last: bool = True) -> str:
        """Return the path that a call means, links resolved; of its last part only where `last`."""
        text = os.fsdecode(self._text(pid, address))
        if not text.startswith("/"):
            number = ctypes.c_int(folder & 0xFFFFFFFF).value
            try:
                link = f"/proc/{pid}/cwd" if number == _HERE else f"/proc/{pid}/fd/{number}"
                where = os.readlink(link)  # noqa: PTH115 - as everywhere in a traced process
            except OSError:
                if number != _HERE and not _is_there(pid):
                    raise LostError from None
                where = "/"
            text = f"{where}/{text}" if text else where
        own = f"/proc/{pid}"
        for alias in ("/proc/self", "/proc/thread-self"):
            if text == alias or text.startswith(alias + "/"):
                text = own + text[len(alias) :]
        self._check_owner(posixpath.normpath(text))
        if last:
            path = os.path.realpath(text)
            self._check_owner(path)
            return path
        head, _, tail = posixpath.normpath(text).rpartition("/")
        return f"{os.path.realpath(head or '/').rstrip('/')}/{tail}"

    def _check_owner(self, path: str) -> None:
        """Refuse what belongs to a process outside the run: not every kernel keeps others from its descriptors."""
        owner = path.split("/", 3)[2] if path.startswith("/proc/") else ""
        if owner.isdecimal() and int(owner) not in self._known:
            raise AnswerError(_DENIED)

    def _text(self, pid: int, address: int) -> bytes:
        data = b""
        while len(data) < _PAGE:
            piece = self._memory(pid, address + len(data), _PAGE - (address + len(data)) % _PAGE)
            end = piece.find(b"\0")
            if end >= 0:
                return data + piece[:end]
            data += piece
        return data[:_PAGE]

    def _memory(self, pid: int, address: int, size: int) -> bytes:
        try:
            with open(f"/proc/{pid}/mem", "rb", 0) as memory:  # noqa: PTH123 - as everywhere in a traced process
                memory.seek(address)
                data = memory.read(size)
        except (OSError, OverflowError, ValueError):
            if _is_readable(pid):
                raise AnswerError(_FAULT) from None
            raise LostError from None
        if not data:
            raise AnswerError(_FAULT)
        return data.ljust(size, b"\0")


def wait_for_watcher() -> None:
    """Let the parent follow this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(ctypes.c_long(_TRACEME), ctypes.c_long(0), None, None):
        raise OSError(ctypes.get_errno(), "this kernel lets no process be followed")
    os.kill(os.getpid(), _STOP)


def _is_there(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}/fd")  # noqa: PTH110 - as above


def _is_readable(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/mem", "rb", 0):  # noqa: PTH123 - as above
            return True
    except OSError:
        return False


def _name_servers() -> frozenset[str]:
    try:
        with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
            fields = [line.split() for line in file]
    except OSError:
        fields = []
    return frozenset(line[1] for line in fields if line[:1] == ["nameserver"] and len(line) > 1) | {"127.0.0.1"}


def _queried_name(query: bytes) -> str:
    """Return the name that a DNS query asks for; empty for what is none."""
    labels: list[str] = []
    at = 12
    while at < len(query) and 0 < query[at] < 64 and len(labels) < 128:  # noqa: PLR2004 - RFC 1035
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
        at += 1 + query[at]
    return ".".join(labels)


assert sys.byteorder == "little"  # noqa: S101 - what is read here is read as x86-64 has it
