"""Matching of planted faults: by category and place; a finding names one, and no place means everywhere."""

from hypothesis import given
from hypothesis import strategies as st

from sssa.protocol.findings import match_faults
from sssa.protocol.sssa import Category, Finding
from sssa.protocol.task import KnownFinding


def fault(place: str, category: Category = "prompt_injection", cves: tuple[str, ...] = ()) -> KnownFinding:
    return KnownFinding(category, "high", place, cves, "", "injection/plain")


def named(place: str, category: Category = "prompt_injection", cves: tuple[str, ...] = ()) -> Finding:
    return Finding("f", category, "low", "It says so.", place, cves, "anything")


def test_a_fault_is_named_by_its_category_near_its_line() -> None:
    at_ten = [fault("a.md#L10")]
    for place in ("a.md#L10", "a.md#L7", "a.md#L13", "a.md#L1-L20", "s1::./a.md#L12-L31"):
        assert match_faults(at_ten, [named(place)]) == ((0,), ()), place
    for place in ("a.md#L6", "a.md#L14", "a.md#L1-L21", "a.md", "b.md#L10"):
        assert match_faults(at_ten, [named(place)]) == ((None,), (0,)), place
    assert match_faults(at_ten, [named("a.md#L10", "other")]) == ((None,), (0,))


def test_a_whole_file_is_named_by_any_place_in_it() -> None:
    assert match_faults([fault("a.md")], [named("b.md"), named("a.md#L900")]) == ((1,), (0,))


def test_an_advisory_is_named_wherever_the_pin_is() -> None:
    pin = [fault("requirements.txt#L3", "dependency_cve", ("CVE-2018-18074",))]
    other = named("requirements.txt#L3", "dependency_cve", ("CVE-2019-11236",))
    same = named("setup.cfg", "dependency_cve", ("cve-2018-18074", "CVE-2020-1"))
    assert match_faults(pin, [other, same]) == ((1,), (0,))


def test_the_nearest_finding_names_a_fault_and_no_finding_names_two() -> None:
    two = [fault("a.md#L10"), fault("a.md#L12")]
    assert match_faults(two, [named("a.md#L11-L12")]) == ((None, 0), ())
    assert match_faults(two, [named("a.md#L12"), named("a.md#L10")]) == ((1, 0), ())
    twice = match_faults(two[:1], [named("a.md#L11"), named("a.md#L10")])
    assert twice == ((1,), ()), "what says it a second time is no false alarm"


places = st.builds(
    lambda file, first, more: f"{file}.md#L{first}-L{first + more}",
    st.sampled_from("ab"),
    st.integers(1, 30),
    st.integers(0, 25),
)


@given(st.lists(places, max_size=8), st.lists(places, max_size=8))
def test_no_finding_is_used_twice_and_none_that_names_a_fault_is_unplanted(
    known: list[str], named_places: list[str]
) -> None:
    found = match_faults([fault(place) for place in known], [named(place) for place in named_places])
    used = [by for by in found.by if by is not None]
    assert len(found.by) == len(known)
    assert len(set(used)) == len(used)
    assert not set(used) & set(found.unplanted)
    for index in found.unplanted:
        assert match_faults([fault(place) for place in known], [named(named_places[index])]).unplanted == (0,)


@given(st.lists(places.map(lambda place: place.partition("-")[0]), unique=True, max_size=8))
def test_who_says_the_truth_finds_it_all(known: list[str]) -> None:
    faults = [fault(place) for place in known]
    found = match_faults(faults, [named(place) for place in known])
    assert found == (tuple(range(len(known))), ())
