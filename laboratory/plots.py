"""Plots as SVG: lines with their intervals over rounds, and points next to a bound. Every text is escaped."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final, NamedTuple

_WIDE: Final = 640
_HIGH: Final = 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 150, 34, 36
_COLORS: Final = ("#2563eb", "#dc2626", "#15803d", "#9333ea", "#d97706", "#0891b2", "#be185d", "#4b5563")


Placing = Callable[[float, float], tuple[float, float]]
"""From values to a place in the picture."""


class Curve(NamedTuple):
    """A line: its name, and (x, y, half of the interval) of its points."""

    name: str
    points: Sequence[tuple[float, float, float]]


def plot(title: str, across: str, curves: Sequence[Curve], bound: float | None = None) -> str:
    """Return an SVG document with the curves, their intervals as bands, and a bound as a dashed line."""
    xs = [x for curve in curves for x, _, _ in curve.points] or [0.0, 1.0]
    tops = [y + half for curve in curves for _, y, half in curve.points] or [1.0]
    lows = [y - half for curve in curves for _, y, half in curve.points] or [0.0]
    high, low = _round_up(max(*tops, bound or 0.0)), min(0.0, *lows)
    left = min(xs)
    right = max(*xs, left + 1e-9)

    def place(x: float, y: float) -> tuple[float, float]:
        wide, tall = _WIDE - _LEFT - _RIGHT, _HIGH - _TOP - _BOTTOM
        return _LEFT + wide * (x - left) / (right - left), _HIGH - _BOTTOM - tall * (y - low) / (high - low)

    parts = [_text(_LEFT, 18, title, bold=True), _text(_LEFT, _HIGH - 6, across)]
    for step in range(5):
        y = low + (high - low) * step / 4
        _, down = place(left, y)
        parts.append(f"<line x1='{_LEFT}' y1='{down:.1f}' x2='{_WIDE - _RIGHT}' y2='{down:.1f}' stroke='#e5e7eb'/>")
        parts.append(_text(_LEFT - 6, down + 4, f"{y:.3g}", anchor="end"))
    across_at = sorted({left, (left + right) / 2, right})
    parts += [_text(place(x, low)[0], _HIGH - 20, f"{x:.4g}", anchor="middle") for x in across_at]
    if bound is not None:
        _, down = place(left, bound)
        parts.append(
            f"<line x1='{_LEFT}' y1='{down:.1f}' x2='{_WIDE - _RIGHT}' y2='{down:.1f}' stroke='#111827'"
            " stroke-dasharray='5 4'/>"
        )
    for number, curve in enumerate(curves):
        parts += _curve(curve, _COLORS[number % len(_COLORS)], place)
        down = _TOP + 16 * number + 10
        parts.append(_text(_WIDE - _RIGHT + 10, down, curve.name, color=_COLORS[number % len(_COLORS)]))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDE} {_HIGH}' font-family='sans-serif' font-size='12'"
        f" role='img' aria-label='{escape(title, quote=True)}'>\n"
        f"<rect width='{_WIDE}' height='{_HIGH}' fill='#ffffff'/>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _curve(curve: Curve, color: str, place: Placing) -> list[str]:
    upper = [place(x, y + half) for x, y, half in curve.points]
    lower = [place(x, y - half) for x, y, half in curve.points]
    middle = [place(x, y) for x, y, _ in curve.points]
    parts = []
    if any(half for _, _, half in curve.points):
        parts.append(f"<polygon points='{_points([*upper, *reversed(lower)])}' fill='{color}' fill-opacity='0.15'/>")
    parts.append(f"<polyline points='{_points(middle)}' fill='none' stroke='{color}' stroke-width='1.5'/>")
    if len(middle) == 1:
        parts.append(f"<circle cx='{middle[0][0]:.1f}' cy='{middle[0][1]:.1f}' r='3' fill='{color}'/>")
    return parts


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _text(  # noqa: PLR0913 - place, text and form
    x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False, color: str = "#111827"
) -> str:
    weight = " font-weight='bold'" if bold else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{color}'{weight}>{escape(text)}</text>"


def _round_up(value: float) -> float:
    """Return the next of 1, 1.2, 1.5, 2, 3, 5, 8 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((power * step for step in (1, 1.2, 1.5, 2, 3, 5, 8, 10) if power * step >= value), value)
