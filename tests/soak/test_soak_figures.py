"""The arithmetic of `make soak`: slopes, quantiles, what it reads from a growing log, and what it calls broken."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from soak.arithmetic import histogram_quantile, quantile, since, slope, worst_bound
from soak.logs import LogTail
from soak.process_memory import Inside
from soak.sample import Sample
from soak.soak_report import JUDGED_S, MOST_MIB_H, report, warm

START = Sample(
    at_s=0.0,
    rss_kb=100_000,
    pss_kb=90_000,
    blocks=700_000,
    used_kb=40_000,
    kept_kb=5_000,
    workers_kb=50_000,
    workers=2,
    descriptors=40,
    threads=18,
    ran_s=1.0,
    waited_s=0.5,
    store_bytes=1_000_000,
    wal_bytes=4_096,
    log_bytes=10_000,
    log_lines=20,
    settled=0,
    lag={0.1: 0},
    lag_s=0.0,
)
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# In its own process: one that ran other tests frees their garbage between the looks.
LOOKS = """
import gc, json, pathlib, sys
from soak.process_memory import newest_look, seen, tell
gc.disable()
tell(file := pathlib.Path(sys.argv[1]))
before = newest_look(file)
held = [bytes(3_000) for _ in range(2_000)], [(index,) for index in range(20_000)]
after = seen()
del held
print(json.dumps([before, after, seen()]))
"""
LAG = {0.001: 60, 0.1: 98, 0.25: 99, math.inf: 100}


def test_slope_of_a_line_is_the_line_s() -> None:
    found = slope([(x / 4, 7 - 3 * x / 4) for x in range(20)])
    assert found is not None
    assert found == pytest.approx((-3, -3, -3))


def test_one_wild_sample_does_not_tilt_the_slope_and_noise_widens_its_bounds() -> None:
    noise = [0.4, -0.3, 0.1, -0.2, 0.3, -0.4, 0.2, -0.1] * 5
    wild = [(float(x), 2 * x + wobble + (500 if x == 39 else 0)) for x, wobble in enumerate(noise)]
    found = slope(wild)
    assert found is not None
    assert found.value == pytest.approx(2, abs=0.02)
    assert found.low < 2 < found.high
    assert 0 < found.high - found.low < 0.1


def test_two_points_have_no_slope() -> None:
    assert slope([(0, 1), (1, 2)]) is None


def test_quantiles_lie_between_values_in_proportion() -> None:
    assert quantile([4, 1, 3, 2], 0.5) == 2.5
    assert quantile([4, 1, 3, 2], 1) == 4
    assert quantile([10], 0.99) == 10
    assert quantile([], 0.5) is None


def test_quantiles_of_a_histogram_spread_its_buckets_evenly() -> None:
    assert histogram_quantile(LAG, 0.3) == pytest.approx(0.0005)
    assert histogram_quantile(LAG, 0.79) == pytest.approx(0.0505)
    assert histogram_quantile(LAG, 0.985) == pytest.approx(0.175)
    assert histogram_quantile(LAG, 1) == 0.25
    assert histogram_quantile({0.1: 0, math.inf: 0}, 0.5) is None
    assert worst_bound(LAG) == math.inf
    assert worst_bound(since(LAG, {0.25: 0, math.inf: 1})) == 0.25


def test_a_growing_log_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    file = tmp_path / "log"
    settled = {"event": "round_settled", "level": "info", "beyond_s": 0.5, "seconds": 5.25}
    lines = [
        settled,
        {"event": "loop_lag", "level": "warning"},
        {"event": "weights_submitted", "reason": "weights_sent"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines) + "no JSON\n" + json.dumps(settled)
    log = LogTail(file)
    file.write_text(text)
    log.read()
    assert (log.lines, log.settled, log.odd, log.size) == (4, 1, 1, len(text) - len(json.dumps(settled)))
    file.write_text(text + "\n")
    log.read()
    assert (log.lines, log.settled, log.beyond, log.seconds) == (5, 2, [0.5, 0.5], [5.25, 5.25])
    assert log.loud == {("warning", "loop_lag"): 1}
    assert log.weights == {"weights_sent": 1}


def samples(seconds: float, mib_an_hour: float, slow: int) -> list[Sample]:
    """Forty samples whose memory grows so fast, after a start of a hundred MiB in the first tenth."""
    found = []
    for step in range(41):
        at = seconds * step / 40
        kb = min(step, 4) * 25_600 + mib_an_hour * 1024 * at / 3600
        lag = {0.1: step * (1000 - slow), 0.25: step * 1000, math.inf: step * 1000}
        found.append(
            replace(
                START, at_s=at, rss_kb=100_000 + int(kb), log_bytes=step * 500, log_lines=step, settled=step, lag=lag
            )
        )
    return found


def broken(seconds: float, mib_an_hour: float, slow: int = 0) -> str:
    return "; ".join(report(samples(seconds, mib_an_hour, slow), LogTail(Path("none")), 1.0, []).broken)


def test_the_warm_up_is_left_out() -> None:
    assert warm(samples(7200, 0, 0))[0].at_s == 720
    assert warm(samples(600, 0, 0))[0].at_s == 105
    found = report(samples(7200, 3, 0), LogTail(Path("none")), 1.0, [])
    assert found.plain["slopes_mib_h"]["rss_kb"][0]["value"] == pytest.approx(3, rel=0.01)
    assert found.plain["log_bytes_per_round"] == 500


def test_growth_that_ended_is_shown_and_not_broken() -> None:
    grown = [replace(one, rss_kb=100_000 + 1024 * min(step, 24)) for step, one in enumerate(samples(3600, 0, 0))]
    found = report(grown, LogTail(Path("none")), 1.0, [])
    whole, last = found.plain["slopes_mib_h"]["rss_kb"]
    assert whole["value"] > MOST_MIB_H
    assert last["value"] == 0
    assert found.broken == []


def test_growth_is_told_apart_into_what_is_alive_and_what_is_only_kept() -> None:
    grown = [
        replace(one, blocks=700_000 + 100 * step, used_kb=40_000, kept_kb=5_000 + 1024 * step)
        for step, one in enumerate(samples(3600, 0, 0))
    ]
    found = report(grown, LogTail(Path("none")), 1.0, [])
    assert found.plain["slopes_blocks_h"][1]["value"] == pytest.approx(4_000)
    assert found.plain["slopes_mib_h"]["used_kb"][1]["value"] == 0
    assert found.plain["slopes_mib_h"]["kept_kb"][1]["value"] == pytest.approx(40)
    assert found.figures["Python's blocks alive, last third"].startswith("+4,000 blocks an hour")


def test_what_a_process_holds_and_frees_is_seen_from_inside(tmp_path: Path) -> None:
    looks = subprocess.run(
        [sys.executable, "-c", LOOKS, str(tmp_path / "inside.json")], check=True, capture_output=True, cwd=BENCHMARKS
    )
    before, after, freed = (Inside(*one) for one in json.loads(looks.stdout))
    assert after.blocks - before.blocks >= 20_000
    assert after.used_kb - before.used_kb >= 2_000 * 3_000 // 1024
    assert after.blocks - freed.blocks >= 20_000
    assert after.used_kb - freed.used_kb >= 2_000 * 3_000 // 1024


def test_descriptors_are_counted_between_rounds() -> None:
    found = [
        replace(one, descriptors=90 if step % 3 else 30 + step // 20) for step, one in enumerate(samples(600, 0, 0))
    ]
    assert report(found, LogTail(Path("none")), 1.0, []).plain["descriptors"] == (30, 31)


def test_broken_is_what_grows_for_half_an_hour_and_what_is_late() -> None:
    assert broken(JUDGED_S, MOST_MIB_H - 1) == ""
    assert "memory still grows by 5.0 MiB an hour" in broken(JUDGED_S, MOST_MIB_H + 1)
    assert broken(JUDGED_S - 60, 10 * MOST_MIB_H) == ""
    assert broken(JUDGED_S, 0, slow=9) == ""
    assert "a busy machine does that" in broken(JUDGED_S, 0, slow=11)
