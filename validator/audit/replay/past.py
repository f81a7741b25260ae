"""What replayed rounds left, as long as they come one after the other: the next input must follow from it."""

from dataclasses import dataclass, field

from validator.audit.input_check import input_fault
from validator.audit.replay.compare import Difference
from validator.protocol.round import RoundInput
from validator.scoring import Version
from validator.state import Change, Ended, State, UnknownFlagError, apply, known_from, learned


@dataclass(slots=True)
class Past:
    """The state before the next round. What it does not know is learned from the first input that tells it.

    Attributes:
        state: before that round.
        next_round: its id; None: any, about which nothing is known.
    """

    state: State = field(default_factory=State)
    next_round: int | None = None

    def begin(self, round_id: int) -> None:
        """Come to a round; where it does not follow the one before, nothing is known."""
        if round_id != self.next_round:
            self.state = known_from(State(), round_id)
        self.next_round = round_id + 1

    def forget(self) -> None:
        """Let the next round begin with nothing: nobody can say what this one left."""
        self.next_round = None

    def difference(self, scored_by: Version, frozen: RoundInput) -> Difference | None:
        """Return where a round's input does not follow from the rounds before it; learn what they do not tell."""
        self.state = learned(self.state, frozen)
        change = Change(self.state)
        try:
            change.clear(frozen.acts)
        except UnknownFlagError as error:
            return Difference(f"input.acts{error.place}", "is not a flag that stands")
        wrong = input_fault(scored_by, apply(self.state, change.delta()), frozen)
        return None if wrong is None else Difference(f"input.{wrong[0]}", wrong[1])

    def step(self, scored_by: Version, ended: Ended) -> None:
        """Take in what the round left."""
        self.state = apply(self.state, scored_by.step(self.state, ended))
