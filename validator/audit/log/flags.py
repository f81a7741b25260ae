"""The flags of a log: rounds raise them, an operator's acts take them away, and nothing else does (SPEC 9; D-28)."""

from dataclasses import dataclass, field

from msgspec import UNSET

from validator.audit.log.salts import WrongReceiptError
from validator.protocol.acts import ClearedFlag, FlagsCleared
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import RoundOutcome

Flag = tuple[str, str]


@dataclass(slots=True)
class Flags:
    """The standing flags of a log's miners.

    Attributes:
        whole: the log begins with the first round.
        since: the first round of the file; flags that earlier ones raised are its word.
        acts: how many acts were held against the flags that they clear.
        untold: flags that went away without an act, in rounds from before acts were told: the validator's word.
        before: cleared flags of miners or rounds from before the file: the validator's word.
    """

    whole: bool = False
    since: int | None = None
    acts: int = 0
    untold: int = 0
    before: int = 0
    _told: bool = False
    _loose: set[str] = field(default_factory=set)
    _raised: dict[str, list[Flag]] = field(default_factory=dict)
    _earlier: dict[str, int] = field(default_factory=dict)

    @property
    def told(self) -> bool:
        """Whether acts are told."""
        return self._told

    def tell(self, end: RoundEnd) -> None:
        """Take in the acts of a round's receipt.

        Raises:
            WrongReceiptError: there is no such flag, or the receipt tells no acts where earlier ones do.
        """
        if end.acts is UNSET:
            if self._told and end.state != "skipped":
                raise WrongReceiptError("round.acts", "is missing: earlier receipts tell acts")
            return
        if end.state == "skipped":
            raise WrongReceiptError("round.acts", "belongs to rounds that were frozen")
        if not self._told:
            self._told = True
            self._loose = {hotkey for hotkey in (*self._raised, *self._earlier) if self.stand(hotkey)}
        for i, act in enumerate(end.acts):
            for j, flag in enumerate(act.flags):
                if not self._clear(act, flag):
                    what = "is not a flag that stands: it was never raised, or cleared before"
                    raise WrongReceiptError(f"round.acts[{i}].flags[{j}]", what)
            self.acts += 1

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
        raised = self._raised.setdefault(hotkey, [])
        if hotkey not in self._earlier:
            self._earlier[hotkey] = 0 if self.whole else max(0, said - len(raised))
        stands = self._earlier[hotkey] + len(raised)
        if self.exact(hotkey) or said >= stands:
            self._loose.discard(hotkey)
            return said != stands
        self._loose.discard(hotkey)
        self.untold += stands - said
        self._raised[hotkey] = raised[len(raised) - min(said, len(raised)) :]  # clearing takes all that stand then
        self._earlier[hotkey] = max(0, said - len(raised))
        return False

    def stand(self, hotkey: str) -> int:
        """Return how many flags a miner has as far as the log tells; more than that it never has."""
        return self._earlier.get(hotkey, 0) + len(self._raised.get(hotkey, ()))

    def exact(self, hotkey: str) -> bool:
        """Whether none of those flags can have gone: acts are told, and an input since then has shown the miner."""
        return self._told and hotkey not in self._loose

    def at_most(self, hotkey: str, flags: int) -> None:
        """Learn that a miner has no more flags than that, where acts are not told."""
        if not self.exact(hotkey) and self.stand(hotkey) > flags:
            self.fault(hotkey, flags)

    def add(self, round_id: str, outcome: RoundOutcome) -> None:
        """Take in the flags that a settled round raised."""
        for flag in outcome.flags:
            self._raised.setdefault(flag.hotkey, []).append((round_id, str(flag.skill_type)))
