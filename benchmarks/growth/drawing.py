"""Curves over two logarithmic axes as a small SVG, for docs/pictures: linear growth rises as the dashed line does."""

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import Final

Points = Sequence[tuple[float, float]]

_WIDE, _HIGH, _EDGE = 640, 360, 56
_INKS: Final = ("#2563eb", "#dc2626", "#15803d", "#9333ea", "#b45309")


def drawing(title: str, across: str, curves: Mapping[str, Points]) -> str:
    """Return the picture of some curves; all coordinates are above 0.

    Args:
        title: what grows.
        across: what it grows with.
        curves: name, with its unit, to points from left to right.
    """
    xs, ys = ([log10(point[i]) for points in curves.values() for point in points] for i in (0, 1))
    left, right = min(xs), max(xs)
    low, high = floor(min(ys)), floor(max(ys)) + 1

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _EDGE + (log10(x) - left) / (right - left) * (_WIDE - 2 * _EDGE),
            _HIGH - _EDGE - (log10(y) - low) / (high - low) * (_HIGH - 2 * _EDGE),
        )

    begin, most = 10**left, 10**low * 1.5
    end = min(10**right, begin * 10**high / most)
    parts = [
        _text(_WIDE / 2, 22, title, "middle"),
        _text(_WIDE / 2, _HIGH - 14, f"{across} (dashed: linear)", "middle"),
        _line([at(begin, most), at(end, most * end / begin)], "#9ca3af", "stroke-dasharray='4 4'"),
        *(_text(_EDGE - 6, at(begin, 10**power)[1] + 4, _figure(10**power), "end") for power in range(low, high + 1)),
        *(_text(at(x, 10**low)[0], _HIGH - _EDGE + 18, _figure(x), "middle") for x in _places(curves)),
    ]
    for i, (name, points) in enumerate(curves.items()):
        ink, placed = _INKS[i % len(_INKS)], [at(*point) for point in points]
        parts += [_line(placed, ink), *(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{ink}'/>" for x, y in placed)]
        parts.append(_text(_EDGE + 12, _EDGE + 16 * i, name, "start", ink))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDE} {_HIGH}' font-family='sans-serif'"
        " font-size='12'>\n"
        f"<rect width='{_WIDE}' height='{_HIGH}' fill='#ffffff'/>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _places(curves: Mapping[str, Points]) -> list[float]:
    return sorted({point[0] for points in curves.values() for point in points})


def _line(points: Points, ink: str, more: str = "") -> str:
    along = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{along}' fill='none' stroke='{ink}' stroke-width='1.5' {more}/>"


def _text(x: float, y: float, words: str, anchor: str, ink: str = "#111827") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{ink}'>{escape(words)}</text>"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
