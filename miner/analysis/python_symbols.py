"""What dotted names and variables of the environment stand for."""

from typing import Final

from miner.analysis import python_tables as tables
from miner.analysis.python_value import COMPUTED, ENVIRON, HOLE, SECRET, Value, any_of, joined, symbol, texts_of

_BUILTIN_PREFIXES: Final = ("builtins.", "__builtins__.", "__builtin__.")


def symbol_of(name: str, labels: int = 0) -> Value:
    """Return what a dotted name stands for."""
    for prefix in _BUILTIN_PREFIXES:
        name = name.removeprefix(prefix)
    if name in ("os.environ", "os.environb"):
        labels |= ENVIRON
    if name == "os.sep":
        return texts_of(("/",))
    return symbol(name, labels)


def named(stems: list[str], key: Value) -> Value:
    """Return what a text names in modules."""
    texts = [text for text in key.texts if HOLE not in text] or ["?"]
    return any_of(symbol_of(f"{stem}.{text}" if stem else text, COMPUTED) for stem in stems for text in texts)


def environment(key: Value, default: Value) -> Value:
    """Return a variable of the environment."""
    labels = SECRET if not key.texts or any(tables.SECRET_NAME.search(text) for text in key.texts) else 0
    if key.texts and all(text in ("HOME", "USERPROFILE", "HOMEPATH") for text in key.texts):
        return texts_of(("~",))
    if key.texts and all(text.startswith("XDG_") or text in ("APPDATA", "LOCALAPPDATA") for text in key.texts):
        return joined(texts_of((f"~/.{key.texts[0]}",)), default)
    return joined(Value(labels), default)
