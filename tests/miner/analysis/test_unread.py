import gzip
import io
import tarfile
import zipfile

import pytest
from analysis_kit import PYTHON, SCRIPT, TEAM, assert_fits_document, without_code
from script_kit import SERVER


def archive(kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as packed:
            packed.writestr("a.txt", "a")
    else:
        with tarfile.open(fileobj=out, mode="w") as folder:
            folder.addfile(tarfile.TarInfo("a"))
    return gzip.compress(out.getvalue()) if kind == "tgz" else out.getvalue()


UNREAD = {
    "Go": ("main.go", b"package main\n"),
    "Rust": ("src/main.rs", b"fn main() {}\n"),
    "Ruby": ("bin/run", b"#!/usr/bin/env ruby\nputs 1\n"),
    "PHP": ("index.php", b"<?php echo 1;\n"),
    "Java": ("Main.java", b"class Main {}\n"),
    "PowerShell": ("run.ps1", b"Get-Date\n"),
    "WebAssembly": ("lib/a.bin", b"\x00asm\x01\x00\x00\x00"),
    "a compiled program or library": ("logo.png", b"\x7fELF\x02\x01\x01" + bytes(40)),
    "a compiled program": ("run.dat", b"MZ" + bytes(58) + b"\x40\x00\x00\x00" + b"PE\x00\x00"),
    "an archive": ("vendor.txt", archive("zip")),
    "an archive.": ("a/vendor.tar", archive("tar")),
    "an archive ": ("vendor.tgz", archive("tgz")),
    "a notebook": ("notes.ipynb", b'{"cells": []}'),
    "a document": ("paper.pdf", b"%PDF-1.7\n"),
}


@pytest.mark.parametrize("what", UNREAD)
def test_what_is_not_read_is_named_and_for_a_person_to_review(what: str) -> None:
    name, content = UNREAD[what]
    files = {"manifest.json": b"{}", name: content}
    analysis = without_code(files, SCRIPT)
    assert [f.evidence_ref.partition("#")[0] for f in analysis.findings if f.category == "other"] == [name]
    assert what.rstrip(" .") in analysis.findings[0].description
    assert (analysis.verdict, analysis.risk_score) == ("REVIEW", 0.35)
    assert_fits_document(analysis, files, SCRIPT)


def test_a_language_has_one_finding_however_many_files() -> None:
    analysis = without_code({f"{n:02}.go": b"package a\n" for n in range(30)}, SERVER)
    assert [f.evidence_ref for f in analysis.findings] == ["00.go#L1-L1"]
    assert analysis.findings[0].description.startswith("30 files are Go")


def test_many_archives_have_a_finding_each_up_to_a_bound() -> None:
    analysis = without_code({f"{n:03}.zip": archive("zip") for n in range(200)}, SERVER)
    assert len(analysis.findings) == 33
    assert "168 more" in {f.description[:8] for f in analysis.findings}
    assert analysis.verdict == "REVIEW"


def test_a_child_that_is_not_read_makes_its_composition_one_to_review() -> None:
    child = b'{"name":"x","children":[{"name":"c","skill_type":"executable_script","path":"c"}]}'
    analysis = without_code({"composition.json": child, "c/main.go": b"package main\n"}, TEAM)
    assert analysis.verdict == "REVIEW"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("logo.png", b"\x89PNG\r\n\x1a\n" + bytes(20)),
        ("font.woff2", b"wOF2" + bytes(20)),
        ("data.csv", b"a,b\n1,2\n"),
        ("LICENSE", b"MIT\n"),
        ("types.d.ts", b"export declare const a: number;\n"),
        ("index.js.map", b'{"version":3}'),
        ("page.css", b"a { color: red }\n"),
        ("MZ.txt", b"MZ is how some files begin\n"),
    ],
)
def test_data_is_no_code(name: str, content: bytes) -> None:
    analysis = without_code({name: content}, PYTHON)
    assert (analysis.verdict, analysis.findings) == ("ALLOW", ())
