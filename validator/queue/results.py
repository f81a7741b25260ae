"""Jobs whose results are fetched and thrown away: what is asked for once, with nothing in the store that waits for it.

A job has a name, and its result a row of that name. Who asked looks for what has neither a result nor a job, and asks
again; a second result of a name is dropped.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from validator.queue.jobs import JobQueue

_PUT: Final = "INSERT INTO results (job, result) VALUES (%(job)s, %(result)s) ON CONFLICT DO NOTHING"
_FETCH: Final = "SELECT job, result FROM results WHERE job = ANY(%(jobs)s)"
_DROP: Final = "DELETE FROM results WHERE job = ANY(%(jobs)s) OR made_at < now() - interval '1 day'"
_WITHDRAW: Final = """
DELETE FROM procrastinate_jobs
WHERE status = 'todo' AND queue_name = %(kind)s AND args->>'work_id' = ANY(%(jobs)s)
"""


class Asked(NamedTuple):
    """A job.

    Attributes:
        name: nobody else's.
        arguments: plain JSON, what the worker is given beside the name.
    """

    name: str
    arguments: Mapping[str, Any]


class Results:
    """The results of jobs of one kind.

    Args:
        jobs, kind: where, and which.
    """

    def __init__(self, jobs: "JobQueue", kind: str) -> None:
        self.jobs = jobs
        self.kind = kind

    async def ask(self, asked: Sequence[Asked], attempt: int = 1) -> None:
        """Put the jobs into the queue."""
        await self.jobs.put(self.kind, [(one.name, attempt, -rank, one.arguments) for rank, one in enumerate(asked)])

    async def put(self, name: str, result: bytes) -> None:
        """Write a result down, unless there is one."""
        await self.jobs.execute(_PUT, job=name, result=result)

    async def fetch(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the results that there are."""
        rows = await self.jobs.execute(_FETCH, jobs=list(names))
        return {str(row["job"]): bytes(row["result"]) for row in rows}

    async def drop(self, names: Sequence[str]) -> None:
        """Withdraw the jobs that nobody has taken, and drop these results; those that nobody fetched, after a day."""
        await self.jobs.execute(_WITHDRAW, kind=self.kind, jobs=list(names))
        await self.jobs.execute(_DROP, jobs=list(names))
