"""The flags of a log: rounds raise them, an operator's acts take them away, and nothing else does (SPEC 9; D-28)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from validator.protocol.round import RoundOutcome
from validator.protocol.round.acts import ClearedFlag, FlagsCleared

Flag = tuple[str, str]


@dataclass(slots=True)
class Flags:
    """The standing flags of a log's miners.

    Attributes:
        whole: the log begins with the first round.
        since: the first round of the file; flags that earlier ones raised are its word.
        acts: number of acts that were compared with the flags they clear.
        before: cleared flags of miners or rounds from before the file: the validator's word.
    """

    whole: bool = False
    since: int | None = None
    acts: int = 0
    before: int = 0
    _raised: dict[str, list[Flag]] = field(default_factory=dict)
    _earlier: dict[str, int] = field(default_factory=dict)

    def clear(self, acts: Sequence[FlagsCleared]) -> str | None:
        """Take in the acts of an input; return the first place that clears a flag which does not stand."""
        for i, act in enumerate(acts):
            for j, flag in enumerate(act.flags):
                if not self._clear(act, flag):
                    return f"acts[{i}].flags[{j}]"
            self.acts += 1
        return None

    def _clear(self, act: FlagsCleared, flag: ClearedFlag) -> bool:
        known = self._raised.get(act.hotkey, [])
        if (one := (flag.round_id, str(flag.skill_type))) in known:
            known.remove(one)
            return True
        if self.whole or self.since is None or int(flag.round_id) >= self.since:
            return False
        left = self._earlier.get(act.hotkey)
        if left == 0:
            return False
        if left is not None:
            self._earlier[act.hotkey] = left - 1
        self.before += 1
        return True

    def fault(self, hotkey: str, said: int) -> bool:
        """Whether a miner's flags in an input do not follow; learn them where the file did not tell of the miner."""
        raised = len(self._raised.get(hotkey, ()))
        return said != raised + self._earlier.setdefault(hotkey, 0 if self.whole else max(0, said - raised))

    def stand(self, hotkey: str) -> int:
        """Return how many flags stand of a miner that an input has shown."""
        return self._earlier.get(hotkey, 0) + len(self._raised.get(hotkey, ()))

    def add(self, round_id: str, outcome: RoundOutcome) -> None:
        """Take in the flags that a settled round raised."""
        for flag in outcome.flags:
            self._raised.setdefault(flag.hotkey, []).append((round_id, str(flag.skill_type)))
