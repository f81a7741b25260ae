"""Rounds and explanations as `--json` shows them: a dispatch's keys and their order are part of the interface."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

import msgspec

from validator.audit.explain import RoundExplanation
from validator.audit.views import RoundView, TaskView
from validator.kinds.explained.gates import Gates
from validator.kinds.explained.page import TaskExplanation
from validator.protocol.reasons import gate_of, meaning_of
from validator.protocol.round.forms import member_form
from validator.store.dispatch import Dispatch


def round_json(view: RoundView) -> dict[str, Any]:
    """Return a round with everything that is stored of it."""
    return {
        "round": view.round,
        "meaning": view.meaning,
        "tasks": [_task(task, view.uids) for task in view.tasks],
        "flags": view.flags,
        "reputation": view.reputation,
        "stalls": [stall._asdict() for stall in view.stalls],
    }


def explanation_json(explained: RoundExplanation) -> dict[str, Any]:
    """Return an explained round."""
    return {**msgspec.structs.asdict(explained), "tasks": [_explained_task(task) for task in explained.tasks]}


def _task(task: TaskView, uids: Mapping[str, int]) -> dict[str, Any]:
    shown = {field.name: getattr(task, field.name) for field in fields(task)}
    return {**shown, "dispatches": [_dispatch(one, uids.get(one.key.hotkey)) for one in task.dispatches]}


def _dispatch(dispatch: Dispatch, uid: int | None) -> dict[str, Any]:
    score = None if dispatch.score is None else member_form(dispatch.score)
    return {
        "hotkey": dispatch.key.hotkey,
        "uid": uid,
        "role": dispatch.role,
        "rank": dispatch.rank,
        "state": dispatch.state,
        "reason": dispatch.end,
        "meaning": meaning_of(dispatch.end),
        "gate": gate_of(dispatch.end),
        "detail": dispatch.detail,
        "sent_at": dispatch.sent_at,
        "received_at": dispatch.received_at,
        "seconds": dispatch.seconds,
        "stalled": dispatch.stalled,
        "http_status": dispatch.http_status,
        "body_bytes": dispatch.body_bytes,
        "sssa_sha256": dispatch.signed_sha256,
        "quality": dispatch.quality,
        "consensus": dispatch.consensus,
        "emission": dispatch.window_entry,
        "agreement_with_primaries": score.agreement_with_primaries if score else None,
        "agreement_with_auditors": score.agreement_with_auditors if score else None,
        "components": score.components if score else None,
        "factors": score.emission if score else None,
        "workflow": score.workflow if score else None,
    }


def _explained_task(task: TaskExplanation) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(task, builtin_types=(datetime,), str_keys=True)
    return {**shown, "gates": None if task.gates is None else _gates(task.gates)}


def _gates(gates: Gates) -> dict[str, Any]:
    dispatch = gates.dispatch
    return {
        "role": dispatch.role,
        "state": dispatch.state,
        "reason": dispatch.reason,
        "meaning": meaning_of(dispatch.reason),
        "detail": dispatch.detail,
        "sent_at": dispatch.sent_at,
        "received_at": dispatch.received_at,
        "seconds": dispatch.seconds,
        "stalled": dispatch.stalled,
        "t_min": gates.window.t_min,
        "deadline": gates.window.deadline,
        "part": gates.part,
        "http_status": dispatch.http_status,
        "body_bytes": dispatch.body_bytes,
        "sssa_sha256": dispatch.signed_sha256,
        "gates": [gate._asdict() for gate in gates.gates],
        "semantic_subset": gates.semantic_subset,
    }
