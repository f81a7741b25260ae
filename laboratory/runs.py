"""Many simulated networks in parallel processes, with a progress bar; the number of processes changes no result."""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from laboratory.population import Population
from laboratory.results import Result, play

_rounds: Any = None  # of all processes, shared


def play_all(
    populations: Sequence[Population],
    jobs: int,
    console: Console,
    done: Callable[[int, Result], None] = lambda *_: None,
) -> list[Result]:
    """Return the results of the populations, in their order.

    Args:
        populations: to play.
        jobs: processes.
        console: for the progress bar.
        done: is called with place and result of each as it ends.
    """
    total = sum(one.rounds * one.validators for one in populations)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        shown = bar.add_task("rounds", total=total)
        if jobs == 1 or len(populations) == 1:
            results = []
            for place, one in enumerate(populations):
                results.append(play(one, lambda: bar.advance(shown)))
                done(place, results[-1])
            return results
        return _side_by_side(populations, jobs, lambda many: bar.update(shown, completed=many), done)


def _side_by_side(
    populations: Sequence[Population],
    jobs: int,
    show: Callable[[int], None],
    done: Callable[[int, Result], None],
) -> list[Result]:
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    results: dict[int, Result] = {}
    with ProcessPoolExecutor(jobs, context, _begin, (counter,)) as pool:
        places: dict[Future[Result], int] = {pool.submit(_played, one): place for place, one in enumerate(populations)}
        open_ones = set(places)
        try:
            while open_ones:
                ended, open_ones = wait(open_ones, timeout=0.5, return_when=FIRST_COMPLETED)
                show(counter.value)
                for one in ended:
                    results[places[one]] = one.result()
                    done(places[one], one.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [results[place] for place in range(len(populations))]


def _begin(counter: Any) -> None:
    global _rounds  # noqa: PLW0603 - a process of the pool has one
    _rounds = counter


def _played(population: Population) -> Result:
    def count() -> None:
        with _rounds.get_lock():
            _rounds.value += 1

    return play(population, count)
