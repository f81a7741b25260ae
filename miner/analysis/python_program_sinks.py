"""Programs that calls start: whose they are, what they change, and who reads their command lines."""

import ast

from miner.analysis import python_tables as tables
from miner.analysis.python_commands import line_of, words_of
from miner.analysis.python_parse import keyword
from miner.analysis.python_site import PLANTED, Hit, Site, power
from miner.analysis.python_value import DECODED, FETCHED, MADE, SOCKET, Value


def started(site: Site) -> Hit | None:
    """Programs: what is decoded or fetched, a shell for somebody else, a line that is put together."""
    name = site.is_any(tables.SPAWNERS)
    if not name:
        return None
    words = words_of(site.one.arguments)
    text = site.one.arguments.keywords.get("input")
    program = (words[0].texts[0] if words and words[0].texts else "").partition(" ")[0].rpartition("/")[2]
    runs_words = not program or program in tables.INTERPRETERS or name in tables.SHELLS
    labels = 0
    for word in words if runs_words else words[:1]:
        labels |= word.labels
    fed = text.labels if text is not None and program in tables.INTERPRETERS else 0
    streams = [site.one.arguments.keywords.get(key) for key in ("stdin", "stdout", "stderr")]
    if any(stream is not None and stream.labels & SOCKET for stream in streams):
        return power("critical", "A program is started with a network connection for its input and output.")
    if (labels | fed) & FETCHED or (labels | fed) & DECODED:
        return power("critical", "A command that is decoded or fetched is run.")
    if any(site.flow.reads(word) & PLANTED for word in (words if runs_words else words[:1])):
        return power("critical", "A file that was fetched or decoded is run.")
    return None


def managed(site: Site) -> Hit | None:
    """Command lines that change what starts, what is installed, or whom programs believe."""
    if not site.is_any(tables.SPAWNERS):
        return None
    words = words_of(site.one.arguments)
    program = (words[0].texts[0] if words and words[0].texts else "").partition(" ")[0].rpartition("/")[2]
    line = line_of(site.one.arguments)
    if tables.FOREIGN_INSTALL.search(line):
        return power("high", "Packages are installed at run time from an address of the author's choice.")
    if tables.UNCHECKED_COMMAND.search(line):
        return power("medium", "Certificates are not verified.")
    if tables.START_COMMAND.search(line) or (program == "crontab" and _changes(words)):
        return power("high", "A program is set up to start by itself.")
    return None


def _changes(words: list[Value]) -> bool:
    return len(words) > 1 and words[1].texts != ("-l",)


def through_shell(site: Site) -> Hit | None:
    """Command lines that a shell reads."""
    name = site.is_any(tables.SPAWNERS)
    flag = site.one.arguments.keywords.get("shell")
    through = name in tables.SHELLS
    if name and not through and flag is not None:
        node = keyword(site.node, "shell")
        through = isinstance(node, ast.Constant) and node.value is True
    words = words_of(site.one.arguments) if name else []
    if name and not through and len(words) > 2:  # noqa: PLR2004 - a shell, -c and its line
        program = (words[0].texts[0] if words[0].texts else "").rpartition("/")[2]
        through = program in tables.SHELL_PROGRAMS and words[1].texts in (("-c",), ("/c",), ("-Command",), ("-lc",))
        words = words[2:]
        if through and words[0].known() is not None:
            return None
    if not through or not words:
        return None
    if words[0].known() is not None and not (words[0].labels & MADE and not words[0].texts):
        return power("low", "A fixed command line goes through a shell.")
    return power("medium", "A command line that is put together at run time goes through a shell.")


def duplicated(site: Site) -> Hit | None:
    """`dup2` of a connection over standard input and output: what is started then belongs to the other side."""
    if any(name == "os.dup2" for name in site.names) and site.first().labels & SOCKET:
        return power("critical", "A network connection takes the place of standard input or output.")
    return None
