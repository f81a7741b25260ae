import math

from builders import V1, all_paid
from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.round import MetagraphSnapshot, Neuron
from sssa.protocol.skill_types import KINDS
from sssa.protocol.weight_rows import to_u16
from validator.store.vector_inputs import Basis, Windows
from validator.weights.plan import plan_vector, resolve

ME, OWNER = "Validator", "Owner"
HOTKEYS = [f"m{n}" for n in range(12)]


def snapshot_of(hotkeys: list[str], owner: str | None = None) -> MetagraphSnapshot:
    neurons = tuple(Neuron(hotkey, uid, 0.0, False, None) for uid, hotkey in enumerate(hotkeys))
    return MetagraphSnapshot(1, 50, "ab" * 32, 0, 2, 20, owner, neurons)


def windows_of(**scores: float) -> Windows:
    return {hotkey: {"declarative": [score] * 20} for hotkey, score in scores.items()}


def basis(windows: Windows) -> Basis:
    return Basis(V1, windows, all_paid(windows), epoch=2, round_id=None, previous=None)


ENTRIES = st.lists(st.floats(0, 4) | st.just(0.0), max_size=25)
WINDOWS = st.dictionaries(
    st.sampled_from([*HOTKEYS, ME, OWNER]), st.dictionaries(st.sampled_from(["declarative", "mcp_server"]), ENTRIES)
)
REGISTERED = st.lists(st.sampled_from([*HOTKEYS, OWNER]), unique=True).map(lambda keys: [ME, *keys])


@given(WINDOWS, REGISTERED, st.sampled_from([None, OWNER]))
def test_what_is_sent_is_the_spec_over_the_registered(
    windows: Windows, registered: list[str], owner: str | None
) -> None:
    snapshot = snapshot_of(registered, owner)
    vector = plan_vector(basis(windows), snapshot, ME, KINDS)
    miners = {hotkey: windows[hotkey] for hotkey in windows if hotkey in registered and hotkey != ME}
    expected = V1.mechanism_weights(miners, standing=all_paid(miners))
    if not vector.positive:
        assert (expected.weights, vector.uids, vector.owner, vector.unallocated) == ({}, {}, None, 1.0)
        return
    assert (vector.scores, vector.weights, vector.unallocated) == expected[:3]
    assert all(0 < weight <= V1.rules.pay.cap for weight in vector.weights.values())
    assert abs(math.fsum(vector.weights.values()) + vector.unallocated - 1) <= 1e-9

    heir = owner if owner in registered and vector.unallocated > 1e-9 else None
    assert vector.owner == heir
    by_uid = {registered.index(hotkey): weight for hotkey, weight in vector.weights.items()}
    if heir is not None:
        taken = by_uid.get(registered.index(heir), 0.0)
        by_uid[registered.index(heir)] = taken + vector.unallocated
        assert abs(math.fsum(vector.uids.values()) - 1) <= 1e-9
    assert vector.uids == by_uid == resolve(vector.weights, vector.unallocated, snapshot)
    assert to_u16(vector.uids)


def test_the_workflows_share_is_told_only_where_a_mechanism_pays_both_kinds() -> None:
    windows = basis({"m0": {"declarative": [1.0] * 20, "workflow": [1.0] * 20}})
    told = [
        plan_vector(windows, snapshot_of([ME, "m0"]), ME, kinds).workflow_share
        for kinds in (KINDS, KINDS[:1], KINDS[1:])
    ]
    assert told == [V1.rules.pay.workflow_part / 7, None, None]
