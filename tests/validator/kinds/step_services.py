"""Step services on loopback, each with a behaviour, for plans that are run over real HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from bittensor import http_auth
from workflow_builders import SERVICE, signed_answer, task_document

from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_run import StepOutput, StepRequest
from sssa.protocol.workflow_task import WorkflowTask
from validator.kinds.workflow.http import HttpStepClient

VALIDATOR = Signer.from_uri("//Validator")
Answer = Callable[[bytes, StepRequest, asyncio.StreamWriter], Awaitable[None]]


def response(body: bytes, status: str = "200 OK", *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def honest(text: str = "The cat sat on the mat.", cost: float = 0.01, delay: float = 0.0) -> Answer:
    async def answer(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(delay)
        writer.write(response(signed_answer(body, StepOutput(text, None, None), cost)))

    return answer


class Services:
    """One HTTP server for all nodes: `script` says what each attempt of a node meets; the last one repeats."""

    def __init__(self, script: dict[str, list[Answer]]) -> None:
        self.script = script
        self.seen: list[StepRequest] = []
        self.callers: list[str] = []
        self._nonces = http_auth.InMemoryNonceStore()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:-2])
        body = await reader.readexactly(int(headers["Content-Length"]))
        method, path, _ = head[0].split(" ")
        caller = http_auth.verify(
            headers, body, method=method, path=path, self_hotkey_ss58=SERVICE.hotkey, nonce_store=self._nonces
        )
        request = msgspec.json.decode(body, type=StepRequest)
        self.callers.append(caller.hotkey_ss58)
        self.seen.append(request)
        answers = self.script.get(request.node_id, [honest()])
        await answers[min(request.attempt, len(answers)) - 1](body, request, writer)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Yield the url of the services; leaving ends every connection."""
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await self.handle(reader, writer)
                await writer.drain()
            except (OSError, EOFError):
                pass  # the validator went away, which is what some of these services are for
            finally:
                writer.close()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base"
        finally:
            server.close()
            for task in tuple(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def task_at(url: str, **changes: Any) -> WorkflowTask:
    """A task whose services are all at `url`."""
    document = task_document(**changes)
    for tool in document["tools"]:
        tool["url"] = url
    return msgspec.convert(document, WorkflowTask)


@asynccontextmanager
async def step_client(*, allow_private: bool = True) -> AsyncIterator[HttpStepClient]:
    client = HttpStepClient(VALIDATOR, allow_private=allow_private)
    try:
        yield client
    finally:
        await client.close()
