"""Find problems of an open page: accessibility, width, markup. Each function returns sentences."""

import os
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

Viewport = tuple[int, int, str]
VIEWPORTS: list[Viewport] = [(320, 640, "dark"), (1280, 900, "light")]
"""Width, height and colour scheme: a small phone and a small laptop. `EVERY_LOOK=1` adds the other two combinations,
which takes twice as long.
"""
if os.environ.get("EVERY_LOOK"):
    VIEWPORTS += [(320, 640, "light"), (1280, 900, "dark")]
VOID_ELEMENTS = frozenset(["area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
IMPLIED_ELEMENTS = frozenset({"html", "head", "body", "tbody"})
AXE_SCRIPT = Axe().axe_script
AXE_RUN_JS = "axe.run({resultTypes: ['violations'], preload: false}).then((results) => results.violations)"
"""Style sheets and media are read again (`preload`) only for a rule about sound and for experimental ones."""
TARGET_SIZE_JS = """() => axe.run({runOnly: ["target-size"]}).then(({violations}) =>
  violations.flatMap((rule) => rule.nodes.map((node) => node.html)))"""
ANIMATIONS_FINISHED_JS = (
    "() => new Promise((seen) => requestAnimationFrame(() => seen(!document.getAnimations().length)))"
)
"""Colours during the transition from light to dark do not count."""
OVERFLOW_JS = """() => {
  const root = document.documentElement, most = root.clientWidth;
  if (root.scrollWidth <= most) return [];
  const reaches = (element) => element.getBoundingClientRect().right > most + 0.5;
  const wide = [...document.body.querySelectorAll('*')].filter(reaches).slice(-3);
  return [`${root.scrollWidth} of ${most} pixels: ${wide.map((element) => element.outerHTML.slice(0, 120))}`];
}"""
PARSED_TAGS_JS = """(html) => {
  const found = {};
  const walk = (root) => root.querySelectorAll('*').forEach((e) => {
    found[e.localName] = (found[e.localName] ?? 0) + 1;
    if (e.localName === 'template') walk(e.content);
  });
  walk(new DOMParser().parseFromString(html, 'text/html'));
  return found;
}"""


def find_page_problems(page: Page, axe_viewports: Sequence[Viewport] = VIEWPORTS) -> list[str]:
    """Check the width in each viewport, and accessibility in `axe_viewports`. The page keeps the last viewport."""
    problems: list[str] = []
    for viewport in VIEWPORTS:
        width, height, scheme = viewport
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
        page.wait_for_function(ANIMATIONS_FINISHED_JS)
        violations = accessibility_violations(page) if viewport in axe_viewports else []
        problems += [f"{width} {scheme}: {text}" for text in (*violations, *overflowing_elements(page))]
    return problems


def accessibility_violations(page: Page) -> list[str]:
    """Return the violations that axe-core reports."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    rules: list[dict[str, Any]] = page.evaluate(AXE_RUN_JS)
    return [
        f"{rule['id']}: {node['target']} {node['html'][:160]} {node.get('failureSummary', '')}"
        for rule in rules
        for node in rule["nodes"]
    ]


def small_targets(page: Page) -> list[str]:
    """Return the controls that are smaller than 24 pixels and too near to others (WCAG 2.2, 2.5.8)."""
    page.evaluate(AXE_SCRIPT)
    elements: list[str] = page.evaluate(TARGET_SIZE_JS)
    return elements


def overflowing_elements(page: Page) -> list[str]:
    elements: list[str] = page.evaluate(OVERFLOW_JS)
    return elements


class _Tags(HTMLParser):
    """The tags of a source text. `problems` lists tags closed out of order and repeated ids."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.started: Counter[str] = Counter()
        self.problems: list[str] = []
        self._open: list[str] = []
        self._ids: set[str] = set()
        self.feed(html)
        self.close()
        self.problems += [f"<{tag}> is never closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.started[tag] += 1
        names = [name for name, _ in attrs]
        id = dict(attrs).get("id")
        if len(names) != len(set(names)) or id in self._ids or id == "":
            self.problems.append(f"attributes of {self.get_starttag_text()}")
        if id:
            self._ids.add(id)
        if tag not in VOID_ELEMENTS:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # <path/> in drawings is closed in its own tag
        if tag not in VOID_ELEMENTS:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}, open is {self._open[-1:]}")
        elif self._open:
            self._open.pop()


def markup_errors(page: Page, html: str) -> list[str]:
    """Return where a browser's parser has to guess: tags out of order, or elements that the source does not contain."""
    tags = _Tags(html)
    parsed: dict[str, int] = page.evaluate(PARSED_TAGS_JS, html)
    differing = {
        tag: (tags.started[tag], parsed.get(tag, 0))
        for tag in {*tags.started, *parsed} - IMPLIED_ELEMENTS
        if tags.started[tag] != parsed.get(tag, 0)
    }
    return [*tags.problems, *([f"written and parsed: {differing}"] if differing else [])]
