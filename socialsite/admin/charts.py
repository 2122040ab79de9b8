"""Lines of charts: numbers in, SVG path data out. Pure; the template draws, the style sheet colours."""

from collections.abc import Sequence

CHART_WIDTH, CHART_HEIGHT = 300, 60
HEADROOM = 4
"""Above the highest point, so that its stroke is whole."""


def line_path(values: Sequence[float | None], top: float) -> str:
    """Path data from left to right; None is a gap. `top` is the value at the upper edge."""
    parts: list[str] = []
    is_drawing = False
    for at, value in enumerate(values):
        if value is not None:
            parts.append(f"{'L' if is_drawing else 'M'}{_x(at, len(values))} {_y(value, top)}")
            if not is_drawing and (at + 1 == len(values) or values[at + 1] is None):
                parts.append("h1")  # a single point would not be seen
        is_drawing = value is not None
    return "".join(parts)


def area_path(values: Sequence[float], top: float) -> str:
    """The same line, closed along the ground."""
    return f"{line_path(values, top)}L{CHART_WIDTH} {CHART_HEIGHT}L0 {CHART_HEIGHT}Z" if values else ""


def _x(at: int, count: int) -> str:
    return f"{CHART_WIDTH * at / max(1, count - 1):.1f}".removesuffix(".0")


def _y(value: float, top: float) -> str:
    height = (CHART_HEIGHT - HEADROOM) * value / top if top else 0.0
    return f"{CHART_HEIGHT - height:.1f}".removesuffix(".0")
