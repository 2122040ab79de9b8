"""Stacks as one SVG without script: dark text on light boxes, full names and shares as titles."""

import re
from collections import Counter
from dataclasses import dataclass, field
from html import escape

from benchmarks.flames import Flame
from benchmarks.sampling import Stack

WIDTH, ROW, HEAD = 1_200, 17, 46
"""Pixels."""
LETTER_WIDTH_PX = 6.4
"""Approximate width of a letter at 11 px."""
MIN_SHARE = 0.003
"""Share of the total; narrower boxes are left out."""
OUTER_FRAMES = (
    "runpy",
    "__main__",
    "benchmarks",
    "daphne.cli",
    "daphne.server",
    "twisted.internet.asyncioreactor",
    "asyncio.runners",
    "asyncio.base_events:BaseEventLoop.run_",
)
"""Outermost frames, outside the event loop."""
EVENT_LOOP_FRAME = "asyncio.base_events:BaseEventLoop._run_once"
SKIPPED_FRAMES = ("asyncio.events:", "django.core.handlers.exception:", "asgiref.local:")
"""Frames that only call the next function; they would double the height without information."""
LAYERS = (
    ("#f6c9a8", "the store's client", r"socialsite\.(store|recipes)|hiredis"),
    ("#bfe0dc", "views, presenters, middleware",
     r"socialsite|(timelines|accounts)\.[a-z_.]*(views|forms|presenters|middleware|templatetags|pages)\b"),
    ("#cfe3b4", "services, repositories", r"timelines|accounts"),
    ("#f3e2a0", "Django", r"django|asgiref"),
    ("#dcd3ee", "daphne, Twisted", r"daphne|twisted|autobahn"),
    ("#e3e3e3", "Python's library", r""),
)  # fmt: skip


@dataclass(slots=True)
class StackBox:
    """A function in a stack, with the functions that it called."""

    name: str
    count: int = 0
    above: "dict[str, StackBox]" = field(default_factory=dict)


def render_svg(flame: Flame, command: str) -> str:
    root = build_tree(flame.stacks)
    boxes: list[str] = []
    height = _place(root, flame, 0.0, 0, boxes)
    bottom = HEAD + height * ROW
    total = f"{flame.unit_us:.0f} us of processor time a {flame.unit}, {root.count} samples ({command})"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 26}" role="img" '
            'font-family="system-ui, sans-serif" font-size="11" fill="#1b1b1b">',
            f"<title>{escape(flame.title)}: {escape(total)}</title>",
            '<rect width="100%" height="100%" fill="#fcfcfa"/>',
            f'<text x="8" y="18" font-size="15" font-weight="600">{escape(flame.title)}</text>',
            f'<text x="8" y="36">{escape(total)}</text>',
            *boxes,
            *_legend(bottom + 8),
            "</svg>\n",
        )
    )


def build_tree(stacks: Counter[Stack]) -> StackBox:
    root = StackBox("all")
    for stack, count in stacks.items():
        root.count += count
        box = root
        for name in strip_frames(stack):
            box = box.above.setdefault(name, StackBox(name))
            box.count += count
    return root


def strip_frames(stack: Stack) -> list[str]:
    """Remove the outermost frames and the frames that only call the next function."""
    if EVENT_LOOP_FRAME in stack:
        stack = stack[stack.index(EVENT_LOOP_FRAME) :]
    names = [name for name in stack if not name.startswith(SKIPPED_FRAMES)]
    while names and names[0].startswith(OUTER_FRAMES):
        del names[0]
    return names


def _place(box: StackBox, flame: Flame, x: float, row: int, into: list[str]) -> int:
    """Add the box and all boxes above it, row 0 at the top; return the number of rows."""
    scale, rows = WIDTH / flame.stacks.total(), row + 1
    into.append(_rectangle(box, flame, x, row, box.count * scale))
    for each in sorted(box.above.values(), key=lambda child: child.name):
        if each.count >= MIN_SHARE * flame.stacks.total():
            rows = max(rows, _place(each, flame, x, row + 1, into))
            x += each.count * scale
    return rows


def _rectangle(box: StackBox, flame: Flame, x: float, row: int, width: float) -> str:
    share = box.count / flame.stacks.total()
    title = f"{box.name}: {share:.1%}, {share * flame.unit_us:.0f} us a {flame.unit}"
    y, name = HEAD + row * ROW, box.name.rpartition(":")[2].replace(".<locals>", "")
    fits = int((width - 6) / LETTER_WIDTH_PX)
    text = name if len(name) <= fits else f"{name[: fits - 1]}…" if fits > 3 else ""
    label = f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(text)}</text>' if text else ""
    return (
        f'<g><title>{escape(title)}</title><rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.5):.1f}" '
        f'height="{ROW - 1}" rx="2" fill="{_colour(box.name)}"/>{label}</g>'
    )


def _colour(name: str) -> str:
    return next(colour for colour, _, pattern in LAYERS if re.match(pattern, name))


def _legend(y: int) -> list[str]:
    elements, x = [], 8
    for colour, words, _ in LAYERS:
        elements.append(f'<rect x="{x}" y="{y}" width="11" height="11" rx="2" fill="{colour}"/>')
        elements.append(f'<text x="{x + 16}" y="{y + 10}">{escape(words)}</text>')
        x += 30 + int(len(words) * LETTER_WIDTH_PX)
    return elements
