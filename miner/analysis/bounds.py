"""Bounds of an analysis. They are counts, never clocks: the same bundle gives the same result."""

from typing import Final

KIB: Final = 1024

MAX_TEXT_FILE: Final = 256 * KIB  # bytes of one file that are searched as text
TEXT_BUDGET: Final = 1024 * KIB  # bytes of all files together that are searched as text
MAX_PYTHON_FILE: Final = 384 * KIB  # larger Python files are not parsed
PYTHON_BUDGET: Final = 1536 * KIB  # bytes of all Python files together that are parsed
TOOLS_BUDGET: Final = 384 * KIB  # bytes of all Python files together that are parsed for the tools that they offer
NODE_BUDGET: Final = 250_000  # syntax nodes of all Python files together
BANDIT_FILES: Final = 40
BANDIT_FILE_NODES: Final = 12_000  # syntax nodes; a file with more is read by the own rules only
BANDIT_BUDGET: Final = 45_000  # syntax nodes of all files together
BANDIT_EFFORT: Final = 2_000_000  # line numbers that bandit lists for one file
MAX_SCRIPT_FILE: Final = 384 * KIB  # larger JavaScript and TypeScript files are not parsed
SCRIPT_BUDGET: Final = 1536 * KIB  # bytes of all of them together that are parsed
SCRIPT_NODES: Final = 600_000  # syntax nodes of all of them together, as the parser counts
MAX_SCRIPT_ANGLES: Final = 4_096  # `<` of one TypeScript file
SCRIPT_ANGLES: Final = 12_288  # of all of them together
MAX_SCRIPT_DEPTH: Final = 2_000  # of a file's tree
MAX_SCRIPT_SCOPES: Final = 100  # functions within functions
MAX_SHELL_TOKENS: Final = 20_000  # statements and words of one script
MAX_SHELL_FILE: Final = 64 * KIB  # bytes of a script that are parsed at most, and only if they have no error
MAX_SHELL_RECOVERY: Final = 8 * KIB  # bytes of a script in which errors are recovered from
MAX_SHELL_OPENINGS: Final = 2_048  # parentheses, pipes and here-documents of a longer script
SHELL_BUDGET: Final = 128 * KIB  # bytes of all scripts together that are parsed
MAX_COMMANDS: Final = 1_000  # shell commands that are reported
MAX_JSON: Final = 256 * KIB  # a manifest that is larger is not read
MAX_SYNTAX_DEPTH: Final = 300  # of a Python file's tree: far below what depends on the caller's stack
MAX_DOTTED: Final = 8  # names in one chain of attributes
MAX_CHILDREN: Final = 32  # of one composition
MAX_DEPTH: Final = 4  # compositions within compositions
MAX_REQUIREMENTS: Final = 2_000  # entries that are read
MAX_REQUIREMENT: Final = 512  # characters of one entry
MAX_PACKAGES: Final = 64  # package.json and lock files that are read
MAX_LOCK: Final = 2048 * KIB  # a lock file that is larger is not read
MAX_LOCKED: Final = 4_096  # packages of one lock file
MAX_PATTERNS: Final = 64  # policy patterns of one resource
MAX_TOOLS: Final = 256


class Budget:
    """What is left to read of one bundle, its children included. The first to ask is served first.

    Attributes:
        text: bytes left to search as text.
        python: bytes of Python source left to parse.
        tools: bytes of Python source left to parse for tools.
        shell: bytes of scripts left to parse.
        nodes: syntax nodes of Python left to look at.
        script: bytes of JavaScript and TypeScript left to parse.
        script_nodes: their syntax nodes left to look at.
        angles: `<` of TypeScript left to parse.
        bandit: syntax nodes left for bandit.
        bandit_files: files left for bandit.
    """

    def __init__(self) -> None:
        self.text = TEXT_BUDGET
        self.python = PYTHON_BUDGET
        self.tools = TOOLS_BUDGET
        self.shell = SHELL_BUDGET
        self.nodes = NODE_BUDGET
        self.script = SCRIPT_BUDGET
        self.script_nodes = SCRIPT_NODES
        self.angles = SCRIPT_ANGLES
        self.bandit = BANDIT_BUDGET
        self.bandit_files = BANDIT_FILES

    def take_text(self, size: int) -> bool:
        """Whether `size` bytes may still be searched; they are taken if so."""
        granted = size <= self.text
        self.text -= size if granted else 0
        return granted

    def take_python(self, size: int) -> bool:
        """Whether `size` bytes may still be parsed; they are taken if so."""
        granted = size <= self.python
        self.python -= size if granted else 0
        return granted

    def take_tools(self, size: int) -> bool:
        """Whether `size` bytes of Python may still be parsed for the tools that they offer; they are taken if so."""
        granted = size <= self.tools
        self.tools -= size if granted else 0
        return granted

    def take_shell(self, size: int) -> bool:
        """Whether `size` bytes of script may still be parsed; they are taken if so."""
        granted = size <= self.shell
        self.shell -= size if granted else 0
        return granted

    def take_script(self, size: int) -> bool:
        """Whether `size` bytes of JavaScript or TypeScript may still be parsed; they are taken if so."""
        granted = size <= self.script
        self.script -= size if granted else 0
        return granted

    def take_script_nodes(self, count: int) -> bool:
        """Whether a JavaScript or TypeScript file of `count` syntax nodes may still be looked at."""
        granted = count <= self.script_nodes
        self.script_nodes -= count if granted else 0
        return granted

    def take_angles(self, count: int) -> bool:
        """Whether a TypeScript file with so many `<` may still be parsed; they are taken if so."""
        granted = count <= self.angles
        self.angles -= count if granted else 0
        return granted

    def take_nodes(self, count: int) -> bool:
        """Whether a file of `count` syntax nodes may still be looked at; they are taken if so."""
        granted = count <= self.nodes
        self.nodes -= count if granted else 0
        return granted

    def take_bandit(self, nodes: int) -> bool:
        """Whether bandit may still read a file of `nodes` syntax nodes; they are taken if so."""
        granted = nodes <= min(self.bandit, BANDIT_FILE_NODES) and self.bandit_files > 0
        self.bandit -= nodes if granted else 0
        self.bandit_files -= granted
        return granted
