"""JSON files of a bundle, and the lines in them that evidence can name."""

import json
from typing import Any

from miner.analysis.bounds import MAX_JSON
from miner.analysis.source import SourceFile
from validator.protocol.strict_json import JsonError, decode_plain


def read_object(source: SourceFile) -> dict[str, Any] | None:
    """Return the object in the file; None if it is no JSON object, repeats a key, is too deep or too large."""
    try:
        value = decode_plain(source.content, limit=MAX_JSON)
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; nothing if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def line_of(source: SourceFile, text: str, after: int = 1) -> int:
    """Return the line, not before line `after`, that holds the string `text` as JSON; `after` if none does."""
    start = source.offset_of(after)
    offsets = [source.text.find(json.dumps(text, ensure_ascii=ascii_only), start) for ascii_only in (True, False)]
    return min((source.line_at(offset) for offset in offsets if offset >= 0), default=after)
