"""Converts the texts of staff to HTML: paragraphs and simple lists, with links as in posts."""

import re
from collections.abc import Iterable
from itertools import groupby

from timelines.text.linkify import linkify

ITEM_PREFIX = "- "


def paragraphs_html(text: str) -> str:
    """Return the HTML of a text. An empty line begins a paragraph, lines that begin with "- " are items of a list."""
    return "".join(_block_html(block.strip("\n")) for block in re.split(r"\n[ \t]*\n", text) if block.strip())


def _block_html(block: str) -> str:
    """Return the paragraphs and lists of a block, in their order."""
    runs = groupby(block.split("\n"), key=lambda line: line.startswith(ITEM_PREFIX))
    return "".join(_list_html(lines) if is_list else _paragraph_html(lines) for is_list, lines in runs)


def _paragraph_html(lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f'<p dir="auto">{linkify(text)}</p>'


def _list_html(lines: Iterable[str]) -> str:
    items = "".join(f'<li dir="auto">{linkify(line.removeprefix(ITEM_PREFIX))}</li>' for line in lines)
    return f"<ul>{items}</ul>"
