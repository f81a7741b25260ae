"""What the commands do. A module of this folder is imported when a command first names it, so that help needs none."""

from typing import TYPE_CHECKING

from validator.cli.lazy import when_named

if TYPE_CHECKING:
    from validator.cli.work import (
        audit,
        checks,
        db,
        db_archive,
        db_backup,
        db_check,
        db_export,
        db_size,
        doctor,
        drain,
        explain,
        flags,
        groups,
        health,
        init,
        miners,
        proof,
        proof_stored,
        replay,
        reruns,
        rounds,
        run,
        score,
        status,
        task_retire,
        task_serve,
        tasks,
        weights,
        weights_plan,
        worker,
    )
else:
    __getattr__ = when_named(__name__)

__all__ = [
    "audit",
    "checks",
    "db",
    "db_archive",
    "db_backup",
    "db_check",
    "db_export",
    "db_size",
    "doctor",
    "drain",
    "explain",
    "flags",
    "groups",
    "health",
    "init",
    "miners",
    "proof",
    "proof_stored",
    "replay",
    "reruns",
    "rounds",
    "run",
    "score",
    "status",
    "task_retire",
    "task_serve",
    "tasks",
    "weights",
    "weights_plan",
    "worker",
]
