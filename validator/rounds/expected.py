"""What each dispatch of a round asks for."""

from validator.protocol.answer import Role
from validator.protocol.round import RoundInput, RoundTask
from validator.rounds.gates import Expected


def expected_of(frozen: RoundInput, task: RoundTask, hotkey: str, role: Role) -> Expected:
    """Return what the gates hold the answer of `hotkey` against."""
    miner = next((miner for miner in frozen.miners if miner.hotkey == hotkey), None)
    image = None if miner is None else miner.sandbox_images.get(task.skill_type)
    return Expected(task, hotkey, role, image, frozen.scoring_version)
