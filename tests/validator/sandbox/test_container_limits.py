"""Hostile images in real containers: every limit is tried from the inside, holds, and nothing of them is left."""

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from engine_kit import (
    LIMITS,
    NOTHING,
    Registry,
    evidence_of,
    failure_of,
    job_of,
    left_behind,
    programs,
    run_in_container,
    sandbox_at,
)

from sssa.protocol.limits import MIB
from sssa.protocol.reasons import Reason
from validator.sandbox.containers import OWNER
from validator.sandbox.interface import Ended, Evidence, SandboxFailure, SandboxLimits

pytestmark = pytest.mark.engine
SOON = replace(LIMITS, wall_s=3)


async def test_one_that_sleeps_for_ever_is_killed(registry: Registry) -> None:
    script = "echo begun > $SSSA_EVIDENCE/begun; trap '' TERM INT HUP; sleep 98765 & while true; do sleep 98765; done"
    found = await evidence_of(registry, script, limits=SOON)
    assert (found.ended, found.exit_code, dict(found.files)) == (Ended.OUT_OF_TIME, 137, {"begun": b"begun\n"})
    assert SOON.wall_s <= found.seconds < SOON.wall_s + 10


async def test_what_it_leaves_running_ends_with_it(registry: Registry) -> None:
    script = "(trap '' TERM HUP; setsid sleep 98765) & sleep 0.2"
    assert (await evidence_of(registry, script)).ended is Ended.BY_ITSELF


async def test_a_fork_bomb_gets_so_many_processes(registry: Registry) -> None:
    sandbox = sandbox_at()
    script = "bomb() { bomb | bomb & }; bomb 2>/dev/null & while :; do :; done"
    running = asyncio.ensure_future(sandbox.run(await job_of(registry, script, limits=SOON)))
    most = 0
    while not running.done():
        most = max(most, len(await asyncio.to_thread(programs)))
        await asyncio.sleep(0.02)
    found = await running
    await sandbox.close()
    assert isinstance(found, Evidence), found
    assert found.ended is Ended.OUT_OF_TIME
    assert 1 < most <= LIMITS.processes + 1  # and the holder's
    assert await left_behind() == NOTHING


async def test_what_it_starts_is_counted(registry: Registry) -> None:
    script = "i=1; while :; do echo $i > $SSSA_EVIDENCE/started; sleep 98765 & i=$((i+1)); done"
    found = await evidence_of(registry, script, limits=replace(LIMITS, wall_s=10))
    assert LIMITS.processes // 2 < int(found.files["started"]) <= LIMITS.processes


async def test_memory_ends_it_and_there_is_no_swap(registry: Registry) -> None:
    found = await evidence_of(registry, "exec awk 'BEGIN { x = \"x\"; while (1) x = x x }'")
    assert (found.ended, found.exit_code) == (Ended.OUT_OF_MEMORY, 137)


async def test_files_in_memory_count_as_memory(registry: Registry) -> None:
    limits = replace(LIMITS, memory=16 * MIB, scratch=64 * MIB)
    found = await evidence_of(registry, "dd if=/dev/zero of=/tmp/x bs=1M count=64; echo $?", limits=limits)
    assert sorted(found.log.split()) == [b"137", b"Killed"]


async def test_it_gets_so_much_of_a_processor(registry: Registry) -> None:
    """Four busy loops for three seconds on half a processor: 1.5 s of CPU time, however many processors there are."""
    script = """
    for i in 1 2 3 4; do (while true; do :; done) & done
    sleep 2; cd /sys/fs/cgroup; cat cpuacct/cpuacct.usage cpu.stat 2>/dev/null > $SSSA_EVIDENCE/used; kill -9 -1
    """
    found = await evidence_of(registry, script, limits=replace(LIMITS, cpus=0.5))
    first = found.files["used"].split()
    seconds = int(first[0]) / 1e9 if first[0].isdigit() else int(first[1]) / 1e6
    assert 0 < seconds < 2 * 0.5 + 0.5


async def test_it_fills_no_disk(registry: Registry) -> None:
    script = """
    for place in / /open /bin /var /root /sys /proc /dev /sssa $SSSA_BUNDLE /etc /usr; do
      dd if=/dev/zero of=$place/filled bs=64k count=1 2>/dev/null && echo $place >> $SSSA_EVIDENCE/wrote
    done
    echo changed >> /etc/hosts && echo hosts >> $SSSA_EVIDENCE/wrote
    echo changed >> /etc/resolv.conf && echo resolv >> $SSSA_EVIDENCE/wrote
    dd if=/dev/zero of=/tmp/one bs=64k 2>/dev/null; dd if=/dev/zero of=/tmp/two bs=64k 2>/dev/null
    du -s /tmp | cut -f1 > $SSSA_EVIDENCE/scratch
    """
    found = await evidence_of(registry, script)
    assert "wrote" not in found.files, found.files["wrote"]
    assert LIMITS.scratch // 2 < int(found.files["scratch"]) * 1024 <= LIMITS.scratch


def on_disk(log: Path) -> int:
    """Bytes of a container's log and what was rotated away from it."""
    total = 0
    for file in log.parent.glob(f"{log.name}*"):
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


async def test_two_hundred_megabytes_of_log_take_no_disk(registry: Registry) -> None:
    sandbox = sandbox_at()
    job = await job_of(
        registry, "head -c 200000000 /dev/zero | tr '\\0' 'x'; echo; echo; yes | head -n 100000; echo end"
    )
    running = asyncio.ensure_future(sandbox.run(job))
    largest = 0
    while not running.done():
        for container in await sandbox._engine.containers(OWNER):
            if container["Names"][0].endswith("-image"):
                try:
                    facts = await sandbox._engine.container(container["Id"])
                except Exception:  # noqa: BLE001 - it is removed while this looks
                    continue
                largest = max(largest, on_disk(Path(facts["LogPath"] or "/nowhere")))
        await asyncio.sleep(0.1)
    found = await running
    await sandbox.close()
    assert isinstance(found, Evidence), found
    assert 0 < largest < 8 * LIMITS.log
    assert 0 < len(found.log) <= LIMITS.log
    assert found.log.endswith(b"y\nend\n")
    assert await left_behind() == NOTHING


async def test_it_reaches_nobody(registry: Registry) -> None:
    script = """
    exec > $SSSA_EVIDENCE/said 2>&1
    ls /sys/class/net; echo --; cat /etc/resolv.conf; echo --; cat /proc/net/route; echo --
    nslookup example.com; wget -T 2 -O- http://1.1.1.1/; wget -T 2 -O- http://$1/v2/; ping -c1 -W1 1.1.1.1
    nc -w 2 172.17.0.1 22; nc -w 2 169.254.169.254 80; echo done
    """
    found = await evidence_of(registry, script.replace("$1", registry.host))
    interfaces, names, routes, rest = found.files["said"].decode().split("--\n")
    assert interfaces.split() == ["lo"]
    assert [line.split() for line in names.splitlines() if line.startswith("nameserver")] == [
        ["nameserver", "127.0.0.1"]
    ]
    assert len(routes.splitlines()) <= 1
    assert rest.endswith("done\n")
    assert "Network unreachable" in rest or "Network is unreachable" in rest
    assert "Connection refused" in rest  # the registry of this machine is not on its loopback
    assert "html" not in rest.lower()


async def test_it_sees_nothing_of_the_host(registry: Registry) -> None:
    script = """
    exec > $SSSA_EVIDENCE/said 2>&1
    id -u; id -g; hostname
    grep -E 'CapEff|CapBnd|CapPrm|CapInh|NoNewPrivs|Seccomp:' /proc/self/status | awk '{print $2}' | tr '\\n' ' '; echo
    ls -d /proc/[0-9]* | wc -l
    find / -xdev -name '*.sock' 2>/dev/null | wc -l; ls /var/run/docker.sock /run/docker.sock 2>/dev/null | wc -l
    find /dev -type b | wc -l
    /sbin/busybox id -u
    for what in 'unshare -U true' 'unshare -n true' 'mount -t tmpfs x /tmp' 'mknod /tmp/disk b 8 0' 'chroot / true' \\
      'chown 0 /tmp' 'hostname other' 'dmesg' 'swapoff -a' 'nsenter -t 1 -m true' 'reboot -f'; do
      $what > /dev/null 2>&1 && echo "could: $what"
    done
    cat /proc/kcore > /dev/null 2>&1 && echo "could: read memory"
    (echo 1 > /proc/sysrq-trigger) 2>/dev/null && echo "could: sysrq"
    echo done
    """
    found = await evidence_of(registry, script)
    lines = [
        line for line in found.files["said"].decode().splitlines() if "denied" not in line and "Read-only" not in line
    ]
    assert lines[:3] == ["65534", "65534", "sandbox"]
    assert set(lines[3].split()[:4]) == {"0000000000000000"}
    assert lines[3].split()[4:6] == ["1", "2"]
    assert int(lines[4]) <= 4
    assert lines[5:8] == ["0", "0", "0"]
    assert lines[8] == "65534"
    assert lines[9:] == ["done"]


async def test_the_limits_of_a_process_are_set(registry: Registry) -> None:
    found = await evidence_of(registry, "ulimit -n; ulimit -c; ulimit -f")
    blocks = max(LIMITS.scratch, LIMITS.evidence) // 512
    assert [int(line) for line in found.log.split()] == [LIMITS.open_files, 0, blocks]


async def test_its_own_evidence_in_the_image_is_covered(registry: Registry) -> None:
    image = await registry.image(
        files={"sssa/evidence/fs.jsonl": "forged", "sssa/bundle/more": "forged", "tmp/more": "x"}
    )
    found = await evidence_of(registry, "ls $SSSA_BUNDLE /tmp > $SSSA_EVIDENCE/listing", of=image)
    assert dict(found.files) == {"listing": b"/sssa/bundle:\nmain.sh\n\n/tmp:\n"}


async def test_the_bundle_cannot_be_written(registry: Registry) -> None:
    script = """
    cd $SSSA_BUNDLE; echo more >> main.sh && echo appended; rm -f main.sh; touch new && echo made; mv main.sh other
    chmod 777 . && echo mode; mount -o remount,rw $SSSA_BUNDLE && echo remounted; ls
    """
    found = await evidence_of(registry, script)
    said = [line for line in found.log.decode().splitlines() if ":" not in line]
    assert said == ["main.sh"]


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("too much", "dd if=/dev/zero of=$SSSA_EVIDENCE/x bs=64k"),
        ("holes", "truncate -s 7M $SSSA_EVIDENCE/x"),
        ("symlink", "ln -s /etc/passwd $SSSA_EVIDENCE/fs.jsonl"),
        ("link to a folder", "ln -s / $SSSA_EVIDENCE/root"),
        ("hard link", "echo > $SSSA_EVIDENCE/a; ln $SSSA_EVIDENCE/a $SSSA_EVIDENCE/b"),
        ("pipe", "mkfifo $SSSA_EVIDENCE/fs.jsonl"),
        ("escape", "touch \"$SSSA_EVIDENCE/$(printf 'a\\033[2Jb')\""),
        ("line break", "touch \"$SSSA_EVIDENCE/$(printf 'a\\nb')\""),
        ("no UTF-8", "touch \"$SSSA_EVIDENCE/$(printf 'a\\377b')\""),
        ("backslash", "touch '$SSSA_EVIDENCE/..\\\\..\\\\x'"),
    ],
)
async def test_odd_evidence_is_refused(registry: Registry, name: str, script: str) -> None:
    found = await failure_of(registry, script.replace("'$SSSA_EVIDENCE", "$SSSA_EVIDENCE'"))
    assert (found.reason, found.ours) == (Reason.SANDBOX_EVIDENCE, True), found
    assert found.detail.isprintable()


async def test_the_evidence_folder_takes_so_much_and_no_more(registry: Registry) -> None:
    script = """
    cd $SSSA_EVIDENCE; i=0; while touch f$i 2>/dev/null; do i=$((i+1)); done; rm f0
    dd if=/dev/zero of=big bs=4k 2>/dev/null; stat -c %s big; rm big; mknod disk b 8 0 && echo disk; cp /bin/busybox run
    ./run echo executed; rm run; echo $i
    """
    found = await evidence_of(registry, script)
    size, count = (int(line) for line in found.log.split() if line.isdigit())
    assert LIMITS.evidence <= size <= LIMITS.evidence + 4096 * LIMITS.entries
    assert count == LIMITS.entries - 1
    assert b"executed" not in found.log
    assert b"disk" not in found.log.replace(b"mknod: disk", b"")


async def test_a_run_that_is_cancelled_leaves_nothing(registry: Registry) -> None:
    sandbox = sandbox_at()
    running = asyncio.ensure_future(sandbox.run(await job_of(registry, "sleep 98765")))
    while not any(one["State"] == "running" for one in await sandbox._engine.containers(OWNER)):
        pass
    running.cancel()
    await asyncio.sleep(0.02)
    running.cancel()  # while it removes what it made
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await left_behind() == NOTHING
    await sandbox.close()


async def test_gvisor_keeps_the_same_promises(registry: Registry) -> None:
    """In the runtime that `.ci/engine` registers; its own threads count, so that the limits are the usual ones."""
    sandbox = sandbox_at()
    known = (await sandbox._engine.info())["Runtimes"]
    await sandbox.close()
    if "runsc" not in known:
        pytest.skip("the engine knows no runtime runsc")
    limits = replace(SandboxLimits(), wall_s=20, evidence=MIB, entries=16)
    script = """
    exec > $SSSA_EVIDENCE/said 2>/dev/null
    id -u; /sbin/busybox id -u; grep -E 'CapEff|CapBnd' /proc/self/status | cut -f2; dmesg | grep -c gVisor
    ls /sys/class/net; cat /etc/resolv.conf; touch /open/x $SSSA_BUNDLE/x || echo refused; cat $SSSA_BUNDLE/data
    """
    found = await evidence_of(registry, script, limits=limits, runtime="runsc", files={"data": b"words"})
    none = "0" * 16
    said = ["65534", "65534", none, none, "1", "lo", "nameserver 127.0.0.1", "refused", "words"]
    assert found.files["said"].decode().split("\n") == said
    full = await run_in_container(
        registry, "dd if=/dev/zero of=$SSSA_EVIDENCE/x bs=64k", limits=limits, runtime="runsc"
    )
    assert isinstance(full, SandboxFailure)
    assert full.reason is Reason.SANDBOX_EVIDENCE
    slow = await evidence_of(registry, "sleep 98765", limits=replace(limits, wall_s=3), runtime="runsc")
    assert slow.ended is Ended.OUT_OF_TIME
