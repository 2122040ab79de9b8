"""Rendered templates with gaps, which are filled with the values of each request.

Filling a pattern takes less time than rendering its template (docs/reference/decisions/cached-html.md).
"""

import re
import secrets
from collections.abc import Mapping

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

_SECRET = secrets.token_hex(8)  # secret, so that no user can write a mark into a text
_MARK = re.compile(rf"{{\|{_SECRET} ([^|]*)\|}}")


def mark(name: str) -> SafeString:
    """Return the gap for a value, for the context of a template."""
    return SafeString(f"{{|{_SECRET} {name}|}}")


def render_pattern(template: str, context: Mapping[str, object]) -> str:
    """Render a template in the active language, as a pattern that `%` fills with a mapping of the marked values.

    The values are HTML: the caller escapes texts.
    """
    return _MARK.sub(r"%(\1)s", render_to_string(template, dict(context)).replace("%", "%%"))


def split_at_marks(html: str) -> list[str] | None:
    """Return alternating HTML and names of gaps, or None if a template applied a filter to a gap."""
    parts = _MARK.split(html)
    return None if any(_SECRET in part for part in parts) else parts
