"""When a subnet steps: what a runtime's block hook does, block after block, with nothing calculated ahead."""

from typing import Final, NamedTuple

LONGEST: Final = 50_400  # blocks without a step that a runtime with a schedule allows


class Stepping(NamedTuple):
    """Epoch steps of a subnet, as the state shows them after a block.

    Attributes:
        tempo: as set.
        since: BlocksSinceLastStep.
        last: LastEpochBlock.
        pending: PendingEpochAt; 0: none.
        epoch: SubnetEpochIndex.
        steps: how many there have been; no runtime counts them so.
    """

    tempo: int
    since: int = 0
    last: int = 0
    pending: int = 0
    epoch: int = 0
    steps: int = 0


class Steps:
    """The steps of one subnet, registered in block `start`.

    Args:
        netuid: the subnet.
        tempo: at the start.
        scheduled: whether the runtime keeps a schedule in its state; before, the block's number alone decided.
        start: the first block that is known.
    """

    def __init__(self, netuid: int, tempo: int, *, scheduled: bool, start: int = 0) -> None:
        self.netuid = netuid
        self.scheduled = scheduled
        self.start = start
        self._states = [Stepping(tempo, last=max(0, start - netuid % max(1, tempo)) if scheduled else 0)]

    def at(self, block: int) -> Stepping:
        """Return the state after `block`."""
        while len(self._states) <= block - self.start:
            self._states.append(self._next(self.start + len(self._states), self._states[-1]))
        return self._states[block - self.start]

    def stepped(self, block: int) -> bool:
        """Return whether the subnet stepped in `block`."""
        return self.at(block).steps > self.at(block - 1).steps

    def set_tempo(self, block: int, tempo: int) -> None:
        """Let `block` hold a call that sets the tempo; a schedule begins anew with it."""
        state = self.at(block)
        self._change(block, state._replace(tempo=tempo, last=block if self.scheduled else state.last))

    def trigger(self, block: int, fires_at: int) -> None:
        """Let `block` hold the owner's call for a step in `fires_at`."""
        self._change(block, self.at(block)._replace(pending=fires_at))

    def defer(self, block: int) -> None:
        """Let too many other subnets step in `block`: a step that is due in it is put off by one block."""
        state = self.at(block - 1)
        assert self._due(block, state)
        self.at(block)
        self._change(block, state._replace(since=state.since + 1, pending=block + 1))

    def planned(self, block: int) -> int | None:
        """Return what the runtime's get_next_epoch_start_block says after `block`."""
        state = self.at(block)
        if state.tempo == 0:
            return None
        usual = state.last + state.tempo
        return min(usual, state.pending) if state.pending else usual

    def _change(self, block: int, state: Stepping) -> None:
        del self._states[block - self.start + 1 :]
        self._states[-1] = state

    def _next(self, block: int, state: Stepping) -> Stepping:
        state = state._replace(since=state.since + 1)
        if not self._due(block, state):
            return state
        state = state._replace(since=0, steps=state.steps + 1)
        return state._replace(last=block, pending=0, epoch=state.epoch + 1) if self.scheduled else state

    def _due(self, block: int, state: Stepping) -> bool:
        if state.tempo == 0:
            return False
        if not self.scheduled:
            return state.tempo - (block + self.netuid + 1) % (state.tempo + 1) == 0
        if state.pending and block >= state.pending:
            return True
        return state.since > LONGEST or block - state.last >= state.tempo
