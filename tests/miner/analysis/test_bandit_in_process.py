"""Bandit runs as a library without leaving anything behind in the process or on disk."""

import logging
import subprocess
import sys
import warnings

import pytest
from analysis_kit import PYTHON, of_python

from miner.analysis.analyse import analyse


def test_bandit_sees_what_the_own_rules_do_not() -> None:
    analysis = of_python("import hashlib\nhashlib.md5(b'x')\n")
    assert [(f.severity, f.description[:12]) for f in analysis.findings] == [("medium", "Bandit B324:")]


def test_nosec_does_not_silence_it() -> None:
    assert len(of_python("import hashlib\nhashlib.md5(b'x')  # nosec\n").findings) == 1


def test_a_password_is_not_repeated() -> None:
    analysis = of_python("def login(user, password='hunter2-of-old'):\n    pass\n")
    assert [f.category for f in analysis.findings] == ["secrets_exposure"]
    assert "hunter2" not in repr(analysis)


def test_nothing_is_printed_or_logged(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    analyse({"evil\u2028name.py": b"import hashlib\nhashlib.md5(b'x')\n", "b.py": b"x = " + b"-" * 290 + b"1"}, PYTHON)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert [record.name for record in caplog.records if record.name.startswith("bandit")] == []


def test_the_process_is_left_as_it_was() -> None:
    before = warnings.formatwarning, list(warnings.filters)
    of_python("x = '\\d'\nimport hashlib\nhashlib.md5(b'x')\n")
    assert (warnings.formatwarning, list(warnings.filters)) == before


def test_it_is_imported_only_when_python_is_analysed() -> None:
    code = (
        "import sys\nfrom miner.analysis.analyse import analyse\n"
        "from validator.protocol.skill_types import SkillType\n"
        "analyse({'a.md': b'x'}, SkillType.RAG_KNOWLEDGE)\nassert 'bandit' not in sys.modules\n"
        "analyse({'a.py': b'x'}, SkillType.EXECUTABLE_PYTHON)\nassert 'bandit' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
