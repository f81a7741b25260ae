"""Evaluates a formula over measurements."""

import pickle
from pathlib import Path

HERE = Path(__file__).parent


def load(path: Path) -> list[float]:
    """Return the measurements, from the cache if there is one."""
    cache = Path("measurements.pickle")
    if cache.exists():
        return list(pickle.loads(cache.read_bytes()))
    values = [float(line) for line in path.read_text(encoding="utf-8").split()]
    cache.write_bytes(pickle.dumps(values))
    return values


def run() -> int:
    """Write the result of the formula; it may use `values`."""
    values = load(HERE / "measurements.txt")
    formula = (HERE / "formula.txt").read_text(encoding="utf-8").strip()
    unit = (HERE / "unit.txt").read_text(encoding="utf-8").strip()
    result = eval(formula, {"values": values, "sum": sum, "len": len})
    shown = eval(unit, {"result": result})
    Path("result.txt").write_text(f"{shown}\n", encoding="utf-8")
    return 0
