"""Parts of pages that are rendered once as a pattern, and filled with the values of each request.

Filling a pattern takes less time than rendering its template (docs/reference/decisions/home-page-cost.md).
"""

import re
from collections.abc import Mapping

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

MARK = "\x00"
"""The character around the name of a value in a rendered template. No template or translation contains it."""
_MARKED_NAME = re.compile(f"{MARK}(.*?){MARK}")


def mark(name: str) -> SafeString:
    """Return the placeholder of a value in the context of `render_pattern`."""
    return SafeString(f"{MARK}{name}{MARK}")


def render_pattern(template: str, context: Mapping[str, object]) -> str:
    """Render a template in the active language, as a pattern that `%` fills with a mapping of the marked values.

    The values are HTML: the caller escapes texts.
    """
    html = render_to_string(template, dict(context))
    return _MARKED_NAME.sub(r"%(\1)s", html.replace("%", "%%"))
