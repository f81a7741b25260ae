"""Package URLs (purl) of bundles, from the manifest that `validator tasks pack --manifest` writes.

Reads the operator's own manifest alone: what a submitter says of a bundle proves nothing. Called by `publish.py`.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from validator.tasks.package_manifest import Package, read_packages
from validator.tasks.package_reference import parse_reference


def purls_of(manifest: Path | None) -> Mapping[str, str]:
    """Return bundle sha256 to package URL, of packages that have one (TaskError: the manifest cannot be read)."""
    packages = () if manifest is None else read_packages(manifest).packages
    urls = ((one.bundle_sha256.lower(), purl_of(one)) for one in packages)
    return {sha256: purl for sha256, purl in urls if purl is not None}


def purl_of(package: Package) -> str | None:
    """Return the URL of a whole package at an exact version, else None."""
    reference = None if package.package is None else parse_reference(package.package)
    if reference is None or reference.subdirectory or not (reference.version or "")[:1].isdigit():
        return None
    version = quote(str(reference.version), safe="")
    if reference.kind == "pypi:":
        return f"pkg:pypi/{quote(reference.name.lower().replace('_', '-'), safe='')}@{version}"
    if reference.kind == "npm:":
        return f"pkg:npm/{quote(reference.name, safe='/')}@{version}"
    return None
