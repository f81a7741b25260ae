"""Doors that careless authors leave open: unchecked peers, commands made of input, downloads that become code."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code.markup import Fault, fill
from validator.planting.shapes.code.planter import code_shape
from validator.planting.shapes.code.words import Words


def _names(words: Words) -> dict[str, str]:
    return {
        "fetch": words.name("fetch json", "load remote", "get status", "read feed", "download list"),
        "run": words.name("convert file", "list matching", "count lines", "preview file", "archive folder"),
        "value": words.local("name", "pattern", "target", "query"),
        "context": words.local("context", "session", "options"),
        "url": words.url("v1/status", "feed.json", "models/latest.bin", "index.bin", "list"),
        "tool": words.draws.pick(("ls -l", "wc -l", "file", "du -sh")),
        "variable": words.draws.pick(("FILE", "INPUT", "TARGET", "QUERY")),
    }


def _https(names: dict[str, str]) -> dict[str, str]:
    return names | {"url": names["url"].replace("http://", "https://")}


def _unchecked_python(words: Words) -> Fault:
    names = _https(_names(words))
    body = words.draws.pick(
        (
            '''
def @fetch@(url<:: str:> = "@url@")<: -> bytes:>:
    """Return what lies there.""" <doc>
    @context@ = ssl._create_unverified_context() <!>
    with urllib.request.urlopen(url, timeout=2, context=@context@) as answer:
        return answer.read()
''',
            '''
def @fetch@(url<:: str:> = "@url@")<: -> bytes:>:
    """Return what lies there.""" <doc>
    @context@ = ssl.create_default_context()
    @context@.check_hostname = False
    @context@.verify_mode = ssl.CERT_NONE <!>
    with urllib.request.urlopen(url, timeout=2, context=@context@) as answer:
        return answer.read()
''',
        )
    )
    return Fault(fill(body, names), fill("@fetch@()", names), ("ssl", "urllib.request"), names["url"])


def _unchecked_javascript(words: Words) -> Fault:
    names = _https(_names(words))
    body, modules = words.draws.pick(
        (
            (
                """
// What lies there. <doc>
function @fetch@(url = "@url@") {
    const @context@ = { rejectUnauthorized: false, timeout: 2000 }; <!>
    https.get(url, @context@, (answer) => answer.resume()).on("error", () => {});
}
""",
                ("https https",),
            ),
            (
                """
// What lies there. <doc>
function @fetch@(url = "@url@") {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"; <!>
    return fetch(url).catch(() => null);
}
""",
                (),
            ),
        )
    )
    return Fault(fill(body, names), fill("@fetch@();", names), modules, names["url"])


def _unchecked_shell(words: Words) -> Fault:
    names = _https(_names(words))
    names["line"] = fill(
        words.draws.pick(
            (
                "curl -k -s -m 2 @url@ || true",
                "curl --insecure -s -m 2 -o /dev/null @url@ || true",
                "wget -q -T 2 -t 1 --no-check-certificate -O - @url@ || true",
            )
        ),
        names,
    )
    body = """
# What lies there. <doc>
@fetch@() {
    @line@ <!>
}
"""
    return Fault(fill(body, names), fill("@fetch@", names), (), names["url"])


def _input_python(words: Words) -> Fault:
    names = _names(words)
    names["line"] = words.draws.pick(
        (
            'return subprocess.run(f"@tool@ {@value@}", shell=True, capture_output=True, text=True).stdout',
            'return os.popen("@tool@ " + @value@).read()',
            'return subprocess.getoutput("@tool@ %s" % @value@)',
        )
    )
    names["line"] = fill(names["line"], names)
    body = '''
def @run@(@value@<:: str:>)<: -> str:>:
    """Return what the system says of it.""" <doc>
    @line@ <!>
'''
    modules = ("os",) if "popen" in names["line"] else ("os", "subprocess")
    return Fault(fill(body, names), fill('@run@(os.environ.get("@variable@", "."))', names), modules)


def _input_javascript(words: Words) -> Fault:
    names = _names(words)
    body = words.draws.pick(
        (
            """
// What the system says of it. <doc>
function @run@(@value@<:: string:>) {
    return execSync(`@tool@ ${@value@}`).toString(); <!>
}
""",
            """
// What the system says of it. <doc>
function @run@(@value@<:: string:>) {
    return execSync("@tool@ " + @value@, { encoding: "utf8" }); <!>
}
""",
        )
    )
    call = '@run@(process.env.@variable@ || ".");'
    return Fault(fill(body, names), fill(call, names), ("{ execSync } child_process",))


def _input_shell(words: Words) -> Fault:
    names = _names(words)
    names["line"] = words.draws.pick(('eval "@tool@ $1"', 'sh -c "@tool@ $1"', 'bash -c "@tool@ ${1}"'))
    names["line"] = fill(names["line"], names)
    body = """
# What the system says of it. <doc>
@run@() {
    @line@ <!>
}
"""
    return Fault(fill(body, names), fill('@run@ "${@variable@:-.}" || true', names))


SHAPES: Final[tuple[Shape, ...]] = (
    code_shape(
        "certificates-unchecked",
        "capability",
        "easy",
        "medium",
        {"python": _unchecked_python, "javascript": _unchecked_javascript, "shell": _unchecked_shell},
    ),
    code_shape(
        "shell-of-input",
        "capability",
        "easy",
        "high",
        {"python": _input_python, "javascript": _input_javascript, "shell": _input_shell},
    ),
)
