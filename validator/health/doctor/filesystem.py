"""Which file system a folder lies on."""

from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mountinfo")
_FAR: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs"})
_FIELDS: Final = 5  # before the mount point there are four


def far_away(folder: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the kind of a network file system that the folder lies on; None for a local one, or where nothing says.

    Args:
        folder: that is there.
        mounts: in the form of Linux's mountinfo.
    """
    found, kind = Path(), None
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    here = folder.resolve()
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if len(fields) < _FIELDS or not kinds:
            continue
        point = Path(fields[4].replace("\\040", " "))
        if here.is_relative_to(point) and len(point.parts) >= len(found.parts):
            found, kind = point, kinds[0]
    return kind if kind in _FAR or (kind or "").startswith("fuse.sshfs") else None
