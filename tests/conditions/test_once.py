from validator.conditions import Once, place_of
from validator.conditions.once import AGAIN_S
from validator.sources import VirtualClock


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
