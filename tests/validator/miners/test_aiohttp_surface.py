"""Private parts of aiohttp that outgoing/wire.py subclasses; one minor version is allowed."""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

from validator.outgoing.wire import Wire

PROJECT = Path(__file__).parents[3]
SIGNATURES: dict[Callable[..., Any], str] = {
    ResponseHandler.__init__: "self, loop",
    ResponseHandler.connection_made: "self, transport",
    ResponseHandler.data_received: "self, data",
    ResponseHandler.feed_data: "self, data, size=0",
    ResponseHandler.resume_reading: "self, resume_parser=True",
    ResponseHandler.connection_lost: "self, exc",
    ResponseHandler.close: "self",
    ResponseHandler.abort: "self",
    ResponseHandler.read: "self",
    ResponseHandler.set_response_params: "self, timer=None, skip_payload=False, read_until_eof=False, "
    "auto_decompress=True, read_timeout=None, read_bufsize=262144, timeout_ceil_threshold=5, max_line_size=8190, "
    "max_field_size=8190, max_headers=128",
    ResponseHandler._drain_helper: "self",
    StreamReader.on_eof: "self, callback",
    StreamReader.readany: "self",
}
OVERRIDDEN = {
    "connection_made",
    "data_received",
    "feed_data",
    "resume_reading",
    "connection_lost",
    "close",
    "abort",
}


def plain(function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    return ", ".join(str(parameter.replace(annotation=parameter.empty)) for parameter in parameters)


def changes() -> Iterator[str]:
    for function, known in SIGNATURES.items():
        if plain(function) != known:
            yield f"{function.__qualname__}({known}) is now ({plain(function)})"
    handler = ResponseHandler(asyncio.get_running_loop())
    for thing, names in (
        (handler, {"transport", "_loop", "_reading_paused", *OVERRIDDEN}),
        (RawResponseMessage, {"code", "headers"}),
        (StreamReader(handler, 1), {"total_bytes", "set_exception"}),
    ):
        yield from (f"{thing!r} has no {name}" for name in sorted(names) if not hasattr(thing, name))
    own = {name for name in (*Wire.__init__.__code__.co_names, *vars(Wire)) if not name.startswith("__")}
    yield from (f"{name} is now aiohttp's, too" for name in sorted(own - OVERRIDDEN) if hasattr(handler, name))


async def test_what_the_connection_uses_of_aiohttp_is_as_it_was() -> None:
    if found := [*changes()]:
        pytest.fail(
            f"aiohttp {aiohttp.__version__} changed what validator/outgoing/wire.py builds on ({'; '.join(found)}): "
            "adapt Wire and this test, and run tests/validator/miners, before the range is raised",
            pytrace=False,
        )


def test_the_allowed_range_is_the_minor_that_is_tested() -> None:
    major, minor = map(int, aiohttp.__version__.split(".")[:2])
    wanted = f"aiohttp>={major}.{minor},<{major}.{minor + 1}"
    for name in ("pyproject.toml", "requirements/runtime.in"):
        (found,) = re.findall(
            r'^[ "]*(aiohttp[<>=][^"\s]*)', (PROJECT / name).read_text(encoding="utf-8"), re.MULTILINE
        )
        assert found == wanted, f"{name} must say `{wanted}`: outgoing/wire.py subclasses a private class"
