"""Miners that know the toy, in a world of rounds."""

from typing import Any

import msgspec
from toy_kind import PATH
from world import World, answer_to

from sssa.protocol.answer import Dispatch, probe_values
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.skill_types import SkillType
from validator.miners.scripted import ScriptedReply
from validator.outgoing.calls import Call


class ToyWorld(World):
    """A world whose miners know the toy; the first one answers it with garbage."""

    toys = 0

    def _reply(self, method: str, call: Call) -> ScriptedReply:
        if call.path != PATH:
            return super()._reply(method, call)
        self.toys += 1
        if call.hotkey == next(iter(self.signers)):
            return ScriptedReply(b"[]", seconds=0.5)
        asked: dict[str, Any] = msgspec.json.decode(call.whole)
        dispatch = Dispatch(
            round_id=asked["round_id"],
            task_id="toy",
            skill_type=SkillType(asked["type"]),
            role=asked["role"],
            t_min_s=0,
            deadline_s=1,
            nonce=asked["nonce"],
            probe_spec=probe_values(asked["nonce"]),
            canary_spec=None,
            runtime_image=None,
            bundle_sha256=asked["sha256"],
            bundle="",
        )
        return ScriptedReply(canonical_bytes(answer_to(self.signers[call.hotkey], dispatch).sssa), seconds=1.0)
