"""Client of a task server, a task source over HTTP: what is unsigned, stale or wrong is refused (SPEC 13).

Called by live rounds and doctor. Writes nothing; reads answers in a worker process.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar
from urllib.parse import urlsplit

import stamina
import structlog
from yarl import URL

from sssa.protocol import limits
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Task
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.incoming.auth import nanoseconds
from validator.outgoing.addresses import CheckedResolver
from validator.outgoing.calls import Call, Reply
from validator.outgoing.exchange import Exchange, RequestSigner
from validator.tasks.source import FETCH_S, Order, SourcedTask, TaskSourceError
from validator.tasks.wire import (
    BUNDLES_PATH,
    MAX_COUNT,
    TASKS_PATH,
    TasksQuery,
    accept_bundle,
    accept_tasks,
    tasks_target,
)
from validator.workers.interface import Here, TooCostlyError, Whose, Workers, WorkersError

_TRIES: Final = 3
_CONNECT_S: Final = 10.0
_THREADS: Final = 4
_MOST_REFUSED: Final = 4  # bad bundles, 8 MiB each, before a fetch ends with what it has
_REFUSED_KEPT: Final = 1_024
T = TypeVar("T")
_log = structlog.get_logger()


class _SilentError(TaskSourceError):
    """The task server gave no whole answer."""


class _ConnectionFailedError(_SilentError):
    """The task server could not be reached."""


_FAILURES: Final[Mapping[Reason, type[TaskSourceError]]] = {
    Reason.DEADLINE_CONNECT: _ConnectionFailedError,
    Reason.DEADLINE_TRANSPORT: _ConnectionFailedError,
    Reason.DEADLINE_LATE: _SilentError,
}


class HttpSource:
    """A task server behind a pinned hotkey (TaskSourceError: `base_url` is not of that form).

    Every try is its own signed request with a fresh nonce; connections that fail are tried three times in all.
    Redirects are not followed, nothing is inflated, and an https server's certificate is checked. Of a type up to 64
    tasks are asked for, in lists of 16; only the bundles of those that are due are fetched. One with a bad bundle is
    passed over and logged (`task_refused`), and comes last from then on.

    Args:
        base_url: `http://host[:port]` or `https://…`, without a path.
        server_hotkey: who must have signed every task list.
        signer: the hotkey that asks.
        clock: for nonces and the freshness of answers.
        timeout_s: for one try, from the first byte sent to the last one received.
        workers: where answers and bundles are read; None: on the event loop.
    """

    def __init__(  # noqa: PLR0913 - settings, and what it works with
        self,
        base_url: str,
        server_hotkey: str,
        signer: Signer,
        clock: Clock,
        *,
        timeout_s: float = 30.0,
        workers: Workers | None = None,
    ) -> None:
        self._base = _checked_base(base_url)
        self._server_hotkey = server_hotkey
        self._requests = RequestSigner(signer, partial(nanoseconds, clock))
        self._clock = clock
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="task-server")
        self._workers = workers or Here()
        self._refused: dict[str, None] = {}

    async def fetch(
        self, skill_type: SkillType, count: int, order: Order, within_s: float = FETCH_S
    ) -> list[SourcedTask]:
        """Return up to `count` of the tasks that the server offers; see `TaskSource`.

        Raises:
            TaskSourceError: unreachable; anything in a list is wrong: then none of it is used; or no bundle was good.
        """
        chosen: list[SourcedTask] = []
        failures: list[TaskSourceError] = []
        try:
            async with asyncio.timeout(within_s):
                offered = await self._offered(skill_type, order, within_s / 2)
                for sha256 in sorted(await order.rank(skill_type, offered), key=self._refused.__contains__):
                    if len(chosen) == count or len(failures) == _MOST_REFUSED:
                        break
                    try:
                        chosen.append(await self._with_bundle(offered[sha256]))
                    except _SilentError:
                        raise
                    except TaskSourceError as error:
                        self._refuse(sha256, error)
                        failures.append(error)
        except TimeoutError:
            failures.append(_SilentError(f"nothing whole within {within_s:.0f} s"))
        except _SilentError as error:
            failures.append(error)
        if failures and not chosen:
            raise failures[0]
        return chosen

    async def reachable(self) -> bool:
        """Return whether a server answered at all, with any status."""
        reply, _ = await self._call(TASKS_PATH, 0)
        if reply.body is not None:
            reply.body.close()
        return reply.status is not None

    async def close(self) -> None:
        """Free the threads; no call may be open or follow."""
        self._threads.shutdown(wait=False)

    async def _offered(self, skill_type: SkillType, order: Order, within_s: float) -> dict[str, Task]:
        """Return tasks that the server offers, at most 64, by hash: those of the lists that come in time.

        The request names what it need not offer again.
        """
        recent = await order.recent(skill_type, limits.MAX_EXCLUDE)
        tasks: dict[str, Task] = {}
        try:
            async with asyncio.timeout(within_s):
                while len(tasks) < limits.MAX_OFFERED:
                    exclude = [*tasks, *recent][: limits.MAX_EXCLUDE]
                    body, nonce = await self._get(tasks_target(skill_type, MAX_COUNT, exclude), limits.MAX_TASKS_BODY)
                    query = TasksQuery(self._server_hotkey, nonce, skill_type, MAX_COUNT, self._clock.now())
                    accepted = await self._read(partial(accept_tasks, body, query))
                    fresh = {sha256: task for task in accepted if (sha256 := task.bundle_sha256.lower()) not in tasks}
                    if not fresh:
                        break
                    tasks |= fresh
        except (TimeoutError, _SilentError):
            if not tasks:
                raise
        return tasks

    def _refuse(self, sha256: str, error: TaskSourceError) -> None:
        _log.warning("task_refused", bundle_sha256=sha256, reason=printable(error.detail, 500))
        self._refused[sha256] = None
        if len(self._refused) > _REFUSED_KEPT:
            del self._refused[next(iter(self._refused))]

    async def _with_bundle(self, task: Task) -> SourcedTask:
        sha256 = task.bundle_sha256.lower()
        bundle, _ = await self._get(BUNDLES_PATH + sha256, limits.MAX_BUNDLE_COMPRESSED)
        return await self._read(partial(accept_bundle, task, bundle))

    async def _read(self, call: Callable[[], T]) -> T:
        try:
            return await self._workers.run(Whose(self._server_hotkey), lambda: call)
        except (TooCostlyError, WorkersError) as error:
            raise TaskSourceError(str(error)) from None

    async def _get(self, target: str, limit: int) -> tuple[bytes, str]:
        """Return the body of a 200 response to a signed request, and the request's nonce."""
        async for attempt in stamina.retry_context(on=_ConnectionFailedError, attempts=_TRIES):
            with attempt:
                return await self._try(target, limit)
        raise AssertionError("stamina raises the last error")

    async def _try(self, target: str, limit: int) -> tuple[bytes, str]:
        reply, nonce = await self._call(target, limit)
        if reply.body is not None:
            with reply.body as body:
                return await asyncio.to_thread(body.read), nonce
        error = _FAILURES.get(reply.reason or Reason.DEADLINE_LATE, TaskSourceError)
        raise error(f"no whole answer within {self._timeout_s:g} s" if error is _SilentError else reply.detail)

    async def _call(self, target: str, limit: int) -> tuple[Reply, str]:
        """Return the reply to a GET, and the nonce that the request had (empty where none went out)."""
        call, resolver = (
            Call(self._server_hotkey, None, target, b"", self._timeout_s, limit),
            CheckedResolver(allow_private=True),
        )
        exchange = Exchange("GET", call, signer=self._requests, threads=self._threads, resolver=resolver, checked=True)
        # The target is signed byte for byte, so it must not be quoted anew.
        url = URL(self._base + target, encoded=True)
        return await exchange.run(url, min(self._timeout_s, _CONNECT_S)), exchange.nonce


def _checked_base(text: str) -> str:
    try:
        parts = urlsplit(text)
        right = (
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and not (parts.username or parts.password or parts.query or parts.fragment)
            and parts.path in ("", "/")
        )
    except ValueError:
        right = False
    if not right:
        raise TaskSourceError("the base url must be http(s)://host[:port] and nothing more")
    return text.rstrip("/")
