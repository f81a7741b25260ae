"""Small tasks for the tests of validator.tasks."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from sssa.protocol.answer import CanarySpec
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Task, Truth, version_for
from validator.tasks.source import SourcedTask

SKILL = {"SKILL.md": b"# Greet\n\nSay hello.\n", "manifest.json": b"{}\n"}


def make_truth(**fields: Any) -> Truth:
    empty = dict.fromkeys(set(Truth.__struct_fields__) - {"findings", "mark"})
    return Truth(**{**empty, "verdict": "ALLOW", **fields})


def make_task(
    files: Mapping[str, bytes] | None = None,
    *,
    skill_type: SkillType = SkillType.DECLARATIVE,
    truth: Truth | None = None,
    canary: str | None = None,
    **fields: Any,
) -> SourcedTask:
    bundle = pack(SKILL if files is None else files)
    task = Task(
        task_version=version_for(truth),
        skill_type=skill_type,
        windows=None,
        bundle_sha256=sha256_hex(bundle),
        provenance="none" if truth is None else "curated",
        truth=truth,
        canary=None if canary is None else CanarySpec(canary),
    )
    return SourcedTask(msgspec.structs.replace(task, **fields), bundle)


def numbered(number: int, skill_type: SkillType = SkillType.DECLARATIVE) -> SourcedTask:
    return make_task({"SKILL.md": f"# Skill {number}\n".encode()}, skill_type=skill_type)


def plain(task: Task) -> dict[str, Any]:
    document = msgspec.to_builtins(task)
    assert isinstance(document, dict)
    return document


def write_task(folder: Path, task: SourcedTask) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bundle.tar.gz").write_bytes(task.bundle)
    (folder / "task.json").write_bytes(msgspec.json.encode(task.task))
    return folder


@asynccontextmanager
async def serving(app: web.Application, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve `app` on a free loopback port and give its base url."""
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
        await asyncio.sleep(0)
