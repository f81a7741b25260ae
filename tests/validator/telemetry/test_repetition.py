from sssa.sources import VirtualClock
from validator.telemetry.repetition import AGAIN_S, Once, Outage, place_of


async def test_the_same_is_said_once_and_again_after_an_hour_with_its_count() -> None:
    clock = VirtualClock()
    once = Once(clock)
    assert once.fresh("a") == 0
    for _ in range(5):
        assert once.fresh("a") is None
    assert once.fresh("b") == 5
    assert once.fresh("b") is None
    await clock.advance(AGAIN_S)
    assert once.fresh("b") == 1


def test_after_it_worked_the_same_is_news() -> None:
    once = Once(VirtualClock())
    once.fresh("a")
    once.fresh("a")
    once.over()
    assert once.fresh("a") == 0


def test_an_error_is_known_by_its_place_whatever_it_says() -> None:
    def fail(text: str) -> BaseException:
        try:
            raise ValueError(text)
        except ValueError as error:
            return error

    assert place_of(fail("one")) == place_of(fail("two"))
    assert place_of(ValueError("one")) != place_of(KeyError("one"))


async def test_an_outage_that_comes_and_goes_is_one_pair_of_lines_a_minute() -> None:
    clock = VirtualClock()
    outage, said = Outage(clock), []
    for _ in range(100):  # two minutes and a half, away for half of each 1.5 s
        if outage.begun():
            said.append("away")
        await clock.advance(0.5)
        if (seconds := outage.over()) is not None:
            said.append(f"back after {seconds}")
        await clock.advance(1.0)
    assert said == ["away", "back after 0.5"] * 3


async def test_an_outage_that_stays_is_said_once_and_one_that_began_unsaid_a_minute_later() -> None:
    clock = VirtualClock()
    outage = Outage(clock)
    assert [outage.begun(), outage.begun()] == [True, False]
    assert outage.over() == 0.0
    assert not outage.begun()
    await clock.advance(60.0)
    assert outage.begun()
    assert outage.over() == 60.0
    assert outage.over() is None
