"""Planted bundles look like ordinary ones: names, keys, varied bases, severities, company, new files."""

import ast
import base64
import hashlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from Crypto.PublicKey import ECC, RSA

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import Draws, SeededRandom
from taskmaker.planting.look_alikes import domain, key, known_labels
from taskmaker.planting.planting import ANY, Constraints, Planted, plant
from taskmaker.planting.shapes import Own, builtin_lists, builtin_shapes, company_with, shapes_with
from taskmaker.planting.skeletons import draw_skeleton
from taskmaker.planting.variation import recorded, varied

pytestmark = pytest.mark.attack

SHOWN = re.compile(
    r"\.(test|invalid|example)\b|\b(192\.0\.2|198\.51\.100|203\.0\.113)\.|ngrok-free|trycloudflare|webhook"
)


def draws(seed: str) -> Draws:
    return Draws(SeededRandom(seed))


def made(skill_type: SkillType, seed: str, wanted: int | None = None) -> tuple[Planted, dict[str, bytes]]:
    dice = draws(f"{skill_type} {seed}")
    files = dict(draw_skeleton(skill_type, dice)[0])
    return plant(files, skill_type, dice, builtin_shapes(), wanted, company_with()), files


def test_host_names_are_of_many_kinds_and_none_is_known_to_be_somebodys() -> None:
    drawn = [domain(draws(f"{n}")) for n in range(400)]
    assert len(set(drawn)) > 390
    assert all(re.fullmatch(r"([a-z]+\.)?[a-z]{4,}\.[a-z]{2,5}", name) for name in drawn)
    assert not {name.split(".")[-2] for name in drawn} & known_labels()
    assert {"google", "github", "ngrok", "example"} <= known_labels()


def test_private_keys_are_read_as_what_their_header_says() -> None:
    kinds = set()
    for number in range(15):
        drawn = key(draws(f"key {number}"))
        kinds.add(drawn["kind"])
        text = f"-----BEGIN {drawn['kind']}-----\n{drawn['body']}\n-----END {drawn['kind']}-----"
        if drawn["kind"].startswith("RSA"):
            read = RSA.import_key(text)
            assert (read.has_private(), read.size_in_bits(), read.p * read.q) == (True, 1024, read.n)
        elif drawn["kind"] == "PRIVATE KEY":
            assert ECC.import_key(text).has_private()
        else:
            scalar = base64.b64decode(drawn["body"])[7:39]
            assert ECC.construct(curve="P-256", d=int.from_bytes(scalar, "big")).has_private()
    assert kinds == {"PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"}


def test_nothing_that_is_planted_shows_a_reserved_name() -> None:
    for skill_type in ASSESSED_TYPES:
        planted, before = made(skill_type, "names", 8)
        old = {line for content in before.values() for line in content.decode().split("\n")}
        new = [line for content in planted.files.values() for line in content.decode().split("\n") if line not in old]
        assert not [line for line in new if SHOWN.search(line) and ".env.example" not in line]


def test_an_owners_domains_are_what_everything_leads_to() -> None:
    own = Own(domains=("only.acme.dev",))
    files = {"main.py": b"def main() -> int:\n    return 1\n", "README.md": b"# Sorter\n\nIt sorts.\n\nBy name.\n"}
    for number in range(6):
        dice = draws(f"own {number}")
        planted = plant(files, SkillType.EXECUTABLE_PYTHON, dice, shapes_with(own), 8, company_with(own))
        hosts = re.findall(
            r"https?://(?:[^/@\"'\s]+@)?([\w.-]+)", "\n".join(c.decode() for c in planted.files.values())
        )
        assert {host for host in hosts if host.rpartition(".")[2] == "dev"} <= {
            *("only.acme.dev", "db.only.acme.dev", "git.only.acme.dev", "packages.only.acme.dev", "mail.only.acme.dev")
        }


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
def test_a_third_each_is_allowed_reviewed_and_blocked_whatever_the_number(skill_type: SkillType) -> None:
    sets = [made(skill_type, f"thirds {n}", 8) for n in range(24)]
    verdicts = Counter(planted.truth.verdict for planted, _ in sets)
    assert all(verdicts[one] >= 3 for one in ("ALLOW", "REVIEW", "BLOCK")), verdicts
    faults = [(fault, before) for planted, before in sets for fault in planted.faults]
    assert len(faults) >= 24 * 6
    fresh = sum(fault.plant.path not in before for fault, before in faults)
    assert fresh <= 0.15 * len(faults)


def test_a_shape_gives_a_severity_that_is_asked_for_or_nothing() -> None:
    files, _ = draw_skeleton(SkillType.DECLARATIVE, draws("asked"))
    for shape in (one for one in builtin_shapes() if SkillType.DECLARATIVE in one.types):
        for severity in shape.severities:
            found = shape.plant(
                draws(shape.name), files, SkillType.DECLARATIVE, Constraints(frozenset({severity}), fresh=False)
            )
            assert found is None or (found.severity == severity and found.path in files)


def test_twins_of_credentials_and_pins_and_their_company_open_nothing(tmp_path: Path) -> None:
    opens = re.compile(
        r"AKIA[A-Z2-7]{16}|gh[ps]_\w{36}|sk_live_\w{24}|sk-ant-api03-\w{80}|npm_\w{36}|glpat-\w{20}|hunter2"
    )
    pins = [one for name in ("pin_python", "pin_npm") for one in builtin_lists()[name]]
    faulty = [f"{one['package']}{between}{one['version']}" for one in pins for between in ("==", '": "')]
    own = '{ service = "S", variable = "S_KEY", phrase = ["key"], value = ["hunter2"], severity = "high" }'
    (tmp_path / "words.toml").write_text(f"secret = [{own}]\n")
    for company in (company_with(), company_with(Own(tmp_path))):
        placed = 0
        for shape in (*company.twins.values(), *company.public, *company.blank):
            skill_type = max(shape.types)
            files = dict(draw_skeleton(skill_type, draws(shape.name))[0])
            for number in range(4):
                planted = shape.plant(draws(f"{shape.name} {number}"), files, skill_type, ANY)
                text = b"\n".join(planted.changed.values() if planted else ()).decode()
                placed += bool(text)
                assert not opens.search(text)
                assert not [pin for pin in faulty if f"{pin}\n" in text or f'{pin}"' in text]
        assert placed > 60


def test_both_texts_and_both_ways_to_hold_them_are_in_bundles_with_faults_and_without() -> None:
    """A fault needs both: a harmful text that is not quoted."""
    phrase = re.compile(r"(?i)curl|urlopen|fetch\(|https?://|token|password")
    public = re.compile(r"(?i)publishable|page[ _]key|project[ _]key|client[ _]id|site[ _]key|public[ _]key|integrity")
    named = Counter[bool]()
    sizes: dict[bool, list[int]] = {True: [], False: []}
    for number in range(20):
        for wanted in (0, 8):
            planted, before = made(SkillType.EXECUTABLE_PYTHON, f"both {number}", wanted)
            old = Counter(line for content in before.values() for line in content.decode().split("\n"))
            new = [line for c in planted.files.values() for line in c.decode().split("\n") if not old[line]]
            assert any(map(phrase.search, new))
            sizes[wanted > 0].append(len(new))
            named[wanted > 0] += len(public.findall("\n".join(new)))
            assert not (wanted == 0 and planted.truth.findings)
    with_faults, without = (sum(sizes[one]) / len(sizes[one]) for one in (True, False))
    assert 0.75 < with_faults / without < 1.33
    assert 0.6 < named[True] / named[False] < 1.7


MODULE = b'''"""Sums."""


def first(numbers):
    total = 0
    for number in numbers:
        total += number
    return total


def second(text):
    pieces = text.split()
    length = len(pieces)
    return length


def shown(value):
    label = "sum"
    return f"{label} {value}"


if __name__ == "__main__":
    print(first([1, 2]), second("a b c"), shown(4))
'''
README = b"# Sums\n\nIt sums, such as here, because of zeros; for example, it does not fail.\n\n    for example = 1\n"


def test_a_varied_base_says_the_same_and_differs_in_many_lines(tmp_path: Path) -> None:
    texts = set()
    for number in range(12):
        after = varied({"sums.py": MODULE, "README.md": README, "a.json": b'{\n  "a": 1\n}\n'}, draws(f"vary {number}"))
        ast.parse(after["sums.py"])
        (tmp_path / "sums.py").write_bytes(after["sums.py"])
        done = subprocess.run([sys.executable, "sums.py"], cwd=tmp_path, capture_output=True, check=True)
        assert done.stdout == b"3 3 sum 4\n"
        assert b'label = "sum"' in after["sums.py"]  # a function with an f-string keeps its names
        assert b"    for example = 1\n" in after["README.md"]  # and a block of code its words
        texts.add(after["sums.py"] + after["README.md"] + after["a.json"])
    assert len(texts) >= 10


def test_a_wheels_record_has_the_digests_of_what_is_there() -> None:
    files = {
        "a.py": b"x = 1\n",
        "a-1.dist-info/RECORD": b"a.py,sha256=old,3\ngone.py,sha256=x,1\na-1.dist-info/RECORD,,\n",
    }
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"x = 1\n").digest()).rstrip(b"=")
    said = recorded(files)["a-1.dist-info/RECORD"]
    assert said == b"a.py,sha256=" + digest + b",6\ngone.py,sha256=x,1\na-1.dist-info/RECORD,,\n"
