"""The system-call filter of a skill: which calls stop for the watcher, and which are refused (seccomp, x86-64).

The skill's own process installs it before any code of the bundle; it binds all that this starts and is never lifted. A
call that stops is refused by the kernel where no watcher is attached: what escapes the watcher can do nothing that
counts.
"""

from __future__ import annotations

import ctypes
import struct

_LOAD, _EQUAL, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _STOP, _ERRNO = 0x7FFF0000, 0x7FF00000, 0x00050000
_ARCHITECTURE = 0xC000003E
_X32 = 0x40000000
_EPERM, _ENOSYS = 1, 38
NO_AUTOMOUNT = 0x800
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2

STOPS = (
    *(2, 85, 257),  # open, creat, openat
    *(76, 82, 264, 316),  # truncate, rename, renameat, renameat2
    *(83, 258, 84, 87, 263),  # mkdir, mkdirat, rmdir, unlink, unlinkat
    *(86, 265, 88, 266),  # link, linkat, symlink, symlinkat
    *(90, 268, 133, 259),  # chmod, fchmodat, mknod, mknodat
    *(42, 44, 46, 307),  # connect, sendto, sendmsg, sendmmsg
    *(59, 322),  # execve, execveat
    63,  # uname
)
# Calls that name a file or a process in a way that the watcher does not read, and those that not every kernel has.
_ABSENT = (
    *(425, 426, 427, 437, 452, 424, 434, 438, 442),  # io_uring_*, openat2, fchmodat2, pidfd_*, mount_setattr
    *(
        332,
        326,
        435,
        436,
        439,
        441,
    ),  # statx, copy_file_range, clone3, close_range, faccessat2, epoll_pwait2
)
_REFUSED = (
    *(101, 310, 311, 312, 317),  # ptrace, process_vm_*, kcmp, seccomp
    *(272, 308, 165, 166, 155, 161),  # unshare, setns, mount, umount2, pivot_root, chroot
    *(298, 304, 321, 323),  # perf_event_open, open_by_handle_at, bpf, userfaultfd
    *(203, 142, 144, 314, 141, 251),  # sched_set(affinity|param|scheduler|attr), setpriority, ioprio_set
    *(440, 448),  # process_madvise, process_mrelease
    *(280, 132, 235, 261),  # utimensat, utime, utimes, futimesat: a time of the past would hide nothing, but differ
)
# (call, argument, value): refused with this argument.
_WITH = (
    *((157, 0, value) for value in (4, 22, 59, 0x59616D61)),  # prctl: dumpable, seccomp, user dispatch, ptracer
    *((72, 1, value) for value in (8, 10, 15)),  # fcntl: owner, signal
    *((16, 1, value) for value in (0x8901, 0x8902, 0x5412)),  # ioctl: owner, process group, TIOCSTI
)
_SIGNALS = ((62, 0), (200, 0), (234, 0), (234, 1), (129, 0), (297, 0))  # kill, tkill, tgkill, rt_(tg)sigqueueinfo


def program(shielded: tuple[int, ...]) -> bytes:
    """Return the filter's instructions; no signal of the skill reaches the processes `shielded`."""
    steps = [
        _step(_LOAD, 4),
        _step(_EQUAL, _ARCHITECTURE, 1, 0),
        _step(_RETURN, _ERRNO | _ENOSYS),
        _step(_LOAD, 0),
        _step(_AT_LEAST, _X32, 0, 1),
        _step(_RETURN, _ERRNO | _ENOSYS),
    ]
    for calls, action in ((STOPS, _STOP), (_ABSENT, _ERRNO | _ENOSYS), (_REFUSED, _ERRNO | _EPERM)):
        for call in calls:
            steps += [_step(_EQUAL, call, 0, 1), _step(_RETURN, action)]
    refused: dict[tuple[int, int], list[int]] = {}
    for call, argument, value in _WITH:
        refused.setdefault((call, argument), []).append(value)
    targets = [sign * pid & 0xFFFFFFFF for pid in shielded for sign in (1, -1)] + [0xFFFFFFFF]
    for call, argument in _SIGNALS:
        refused.setdefault((call, argument), []).extend(targets)
    for (call, argument), values in refused.items():
        checks = [_step(_LOAD, 16 + 8 * argument)]
        for value in values:
            checks += [_step(_EQUAL, value, 0, 1), _step(_RETURN, _ERRNO | _EPERM)]
        checks.append(_step(_LOAD, 0))
        steps += [_step(_EQUAL, call, 0, len(checks)), *checks]
    other = [_step(_LOAD, 16), _step(_EQUAL, 0, 1, 0), _step(_RETURN, _ERRNO | _EPERM), _step(_LOAD, 0)]
    steps += [_step(_EQUAL, 302, 0, len(other)), *other]  # prlimit64 of another process
    automount = [_step(_LOAD, 16 + 8 * 3), _step(_HAS, NO_AUTOMOUNT, 0, 1), _step(_RETURN, _STOP)]
    steps += [_step(_EQUAL, 262, 0, len(automount)), *automount]  # newfstatat, which not every kernel takes with this
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def install(shielded: tuple[int, ...]) -> None:
    """Install the filter in this process.

    Raises:
        OSError: the kernel refuses; nothing of a bundle may run then.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    code = program(shielded)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)))
    none = ctypes.c_ulong(0)
    libc.prctl(_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none)
    if libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.c_void_p(ctypes.addressof(header)), none, none):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def _step(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("HBBI", code, true, false, value)
