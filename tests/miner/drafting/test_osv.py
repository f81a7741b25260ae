"""Advisories of an OSV export against what a bundle pins: which are about it, and what odd exports come to."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from miner.scanners.osv import (
    MAX_ADVISORY,
    Advisories,
    Advisory,
    Ecosystem,
    Pinned,
    advisories_for,
    documents_in,
    in_range,
    key_of,
)
from miner.scanners.packages import advised
from validator.tasks.source import TaskError

REQUESTS = Pinned("PyPI", "requests", "2.19.0", "requirements.txt#L1-L1")
SCOPED = Pinned("npm", "@acme/kit", "1.4.0-beta.2", "package.json#L3-L3")


def entry(ecosystem: str, name: str, *events: dict[str, str], kind: str = "ECOSYSTEM") -> dict[str, Any]:
    return {"package": {"ecosystem": ecosystem, "name": name}, "ranges": [{"type": kind, "events": list(events)}]}


def osv(name: str, *affected: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"schema_version": "1.6.0", "id": name, "affected": affected, **more}).encode()


SINCE_EVER = [{"introduced": "0"}, {"fixed": "2.20.0"}]


def asked(*documents: bytes | None) -> Advisories:
    return advisories_for(documents, [REQUESTS, SCOPED])


def test_two_databases_that_know_one_hole_are_one_advisory() -> None:
    mine = entry("PyPI", "Requests", *SINCE_EVER)
    found = asked(
        osv("PYSEC-2018-28", mine, aliases=["CVE-2018-18074", "GHSA-x84v-xcm2-53pg"]),
        osv(
            "GHSA-x84v-xcm2-53pg",
            mine,
            aliases=["CVE-2018-18074"],
            summary="Credentials follow \u202eredirects",
            database_specific={"severity": "HIGH", "cwe_ids": []},
        ),
        osv("MAL-2024-1", {"package": {"ecosystem": "npm", "name": "@acme/kit"}, "versions": ["1.4.0-beta.2"]}),
    )
    assert found.of == {
        REQUESTS: (
            Advisory(
                "CVE-2018-18074",
                "high",
                r"Credentials follow \u202eredirects",
                ("CVE-2018-18074", "GHSA-x84v-xcm2-53pg"),
            ),
        ),
        SCOPED: (Advisory("MAL-2024-1", None, "", is_malware=True),),
    }
    malware = advised(SCOPED, found.of[SCOPED][0])
    assert (malware.category, malware.severity, malware.cve_ids) == ("excessive_capability", "critical", ())
    assert advised(REQUESTS, found.of[REQUESTS][0]).cve_ids == ("CVE-2018-18074", "GHSA-x84v-xcm2-53pg")


def test_what_is_about_others_is_left_out() -> None:
    found = asked(
        osv("PYSEC-1", entry("PyPI", "requests", {"introduced": "2.19.1"})),
        osv("PYSEC-2", entry("npm", "requests", {"introduced": "0"}, kind="SEMVER")),
        osv("PYSEC-3", entry("PyPI", "requests", *SINCE_EVER), withdrawn="2024-01-01T00:00:00Z"),
        osv("PYSEC-4", entry("PyPI", "requests", {"introduced": "0"}, kind="GIT")),
        osv("PYSEC-5", entry("PyPI", "requests", {"introduced": "0"}, {"fixed": "no version"})),
        osv("PYSEC-6", entry("PyPI", "requests-toolbelt", {"introduced": "0"})),
    )
    assert (found.of, found.read, found.unread) == ({}, 6, 0)


def test_what_is_no_advisory_is_counted() -> None:
    twice = b'{"id": "A", "id": "B", "affected": [{"package": {"ecosystem": "PyPI", "name": "requests"}}]}'
    torn, odd = b'{"affected": [{"package": {"name": "requests"', b'{"affected": {}, "name": "requests", "id": 7}'
    found = asked(torn, odd, twice, None, b"[]")
    assert (found.of, found.read, found.unread) == ({}, 5, 5)


@pytest.mark.parametrize(
    ("ecosystem", "version", "events", "affected"),
    [
        ("PyPI", "1.0rc1", [("introduced", "0"), ("fixed", "1.0")], True),
        ("PyPI", "1.0.post1", [("introduced", "0"), ("last_affected", "1.0")], False),
        ("PyPI", "2.5", [("fixed", "2.6"), ("introduced", "2.0"), ("fixed", "1.2"), ("introduced", "0")], True),
        ("PyPI", "1.5", [("introduced", "0"), ("fixed", "1.2"), ("introduced", "2.0"), ("fixed", "2.6")], False),
        ("npm", "1.0.0-alpha.9", [("introduced", "0"), ("fixed", "1.0.0-alpha.10")], True),
        ("npm", "1.0.0", [("introduced", "1.0.0-rc.1"), ("fixed", "1.0.0")], False),
        ("npm", "1.0.0+build", [("introduced", "0"), ("last_affected", "1.0.0")], True),
        ("npm", "not one", [("introduced", "0")], False),
        ("PyPI", "1" * 129, [("introduced", "0")], False),
    ],
)
def test_ranges(ecosystem: Ecosystem, version: str, events: list[Any], affected: bool) -> None:
    assert in_range(ecosystem, version, events) is affected


def test_prereleases_of_npm_are_in_the_order_of_semver() -> None:
    order = "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1"
    keys = [key_of("npm", version) for version in order.split()]
    assert keys == sorted(keys)


def test_an_export_is_a_folder_or_a_zip_or_a_file(tmp_path: Path) -> None:
    document = osv("PYSEC-1", entry("PyPI", "requests", *SINCE_EVER))
    (tmp_path / "PyPI").mkdir()
    (tmp_path / "PyPI" / "PYSEC-1.json").write_bytes(document)
    (tmp_path / "PyPI" / "link.json").symlink_to(tmp_path / "PyPI" / "PYSEC-1.json")
    (tmp_path / "PyPI" / "huge.json").write_bytes(b" " * (MAX_ADVISORY + 1))
    (tmp_path / "PyPI" / "notes.txt").write_bytes(b"not one")
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("PYSEC-1.json", document)
        archive.writestr("huge.json", b" " * (MAX_ADVISORY + 1))
        archive.writestr("notes.txt", b"not one")
    assert list(documents_in([tmp_path / "PyPI"])) == [document, None, None]
    assert list(documents_in([tmp_path / "all.zip"])) == [document, None]
    assert list(documents_in([tmp_path / "PyPI" / "link.json"])) == [document]
    assert list(documents_in([tmp_path])) == [document, None, document, None, None]


def test_a_zip_that_is_none_is_refused_and_a_torn_member_is_unread(tmp_path: Path) -> None:
    sound = tmp_path / "all.zip"
    with zipfile.ZipFile(sound, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", json.dumps({"id": "x" * 400}))
    data = bytearray(sound.read_bytes())
    torn, no_zip = (tmp_path / name for name in ("torn.zip", "no.zip"))
    torn.write_bytes(data[:36] + b"\xff\xff\xff\xff" + data[40:])
    no_zip.write_bytes(b"PK")
    assert list(documents_in([torn])) == [None]
    for path, said in ((no_zip, "no zip"), (tmp_path / "a.json", "not there")):
        with pytest.raises(TaskError, match=said):
            list(documents_in([path]))
