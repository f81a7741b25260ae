"""What calls do to the system: certificates unverified, programs set up to start by themselves, folders deleted."""

import ast
from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.python_parse import dotted
from miner.analysis.python_site import Hit, Site, power
from miner.analysis.python_value import CLIENT, HOLE, STARTS

_CHECKS: Final = ("verify", "verify_ssl", "ssl", "verify_certs", "check_hostname", "validate_certs")
_PLACING: Final = frozenset(
    {
        *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "shutil.copytree"),
        *("os.rename", "os.replace", "os.link", "os.symlink"),
    }
)


def unverified(site: Site) -> Hit | None:
    """Connections that verify no certificate."""
    known = bool(site.one.receiver.labels & CLIENT) or any(map(tables.VERIFYING.search, site.names))
    if "ssl._create_unverified_context" in site.names or any(
        _unchecks(one, known=known) for one in (() if site.passed else site.node.keywords)
    ):
        return power("medium", "Certificates are not verified.")
    return None


def _unchecks(one: ast.keyword, *, known: bool) -> bool:
    value = one.value.value if isinstance(one.value, ast.Constant) else None
    if one.arg in ("cert_reqs", "verify_mode"):
        return dotted(one.value).endswith("CERT_NONE") or value in ("CERT_NONE", "NONE")
    if one.arg == "disable_ssl_certificate_validation":
        return value is True
    return known and value is False and one.arg in _CHECKS


def persistent(site: Site) -> Hit | None:
    """What makes programs start by themselves."""
    given = site.one.arguments
    if site.one.method in ("write", "writelines", "print") and site.one.receiver.labels & STARTS:
        return power("high", "The code writes a file that makes programs start by themselves.")
    target = None
    if site.one.method in ("write_text", "write_bytes", "symlink_to", "hardlink_to"):
        target = site.one.receiver
    elif site.is_any(_PLACING):
        target = given.at(1, "dst", "dest")
    elif site.one.function.symbols and "print" in site.names:
        handle = given.keywords.get("file")
        if handle is not None and handle.labels & STARTS:
            return power("high", "The code writes a file that makes programs start by themselves.")
    if target is not None and any(map(tables.START_PATH.search, target.texts)):
        return power("high", "The code writes a file that makes programs start by themselves.")
    if any(name in ("winreg.SetValueEx", "winreg.SetValue", "_winreg.SetValueEx") for name in site.names):
        return power("high", "A value of the registry is set, which can make programs start by themselves.")
    return None


def deleted(site: Site) -> Hit | None:
    """Folders of the system or of a user that are deleted as a whole."""
    if site.is_any(tables.DELETERS):
        paths, recursive = site.first(), bool(site.is_any(tables.RECURSIVE_DELETERS))
    elif site.one.method in ("unlink", "rmdir", "rmtree") and not site.names:
        paths, recursive = site.one.receiver, False
    else:
        return None
    for text in paths.texts:
        plain = text.rstrip("/") or "/"
        if tables.BROAD_PATH.fullmatch(plain) and plain.strip(HOLE + "/") and (recursive or HOLE in text):
            return power("critical", "A whole system or home folder is deleted.")
        if plain == "/" and text and recursive:
            return power("critical", "A whole system or home folder is deleted.")
    return None
