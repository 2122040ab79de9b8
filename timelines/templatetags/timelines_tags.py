"""What the templates need beyond Django's own tags: icons, avatars, times and numbers.

Pure functions of their arguments: no request, no store. The words are the templates' business.
"""

from datetime import UTC, datetime
from functools import lru_cache

import regex
from django import template
from django.conf import settings
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()

HUE_COUNT = 12
"""Avatar colours; static/css/site.css has one class `hue-N` for each."""


@register.simple_tag
def icon(name: str) -> SafeString:
    """A decorative icon of the sprite static/icons.svg: the words beside it say what it means."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
def kept(template_name: str) -> SafeString:
    """A template without context, rendered once a language: most words of a page never change."""
    if settings.DEBUG:
        return render_to_string(template_name)
    return _render_cached(template_name, get_language())


@lru_cache(maxsize=64)
def _render_cached(template_name: str, language: str | None) -> SafeString:
    """`language` is the active one; it stands in the key only."""
    return render_to_string(template_name)


@register.filter
def hue(account_id: int | str) -> int:
    """The avatar colour of an account: the same on every page, for ever."""
    digits = str(account_id)
    return int(digits) % HUE_COUNT if digits.isdecimal() else 0


@register.filter
def initial(name: str) -> str:
    """The first grapheme of a name, so that an accent or an emoji stays whole."""
    found = regex.match(r"\X", name.strip())
    return found[0].upper() if found else "?"


@register.filter
def number(value: int | str | None) -> str:
    """12345 as the reader's language groups it: 12,345 or 12.345."""
    return "" if value is None or value == "" else number_format(value, use_l10n=True, force_grouping=True)


@register.filter
def ms_datetime(value: int | str | datetime | None) -> datetime | None:
    """Unix milliseconds as a UTC datetime; a datetime passes as it is."""
    if value is None or isinstance(value, datetime):
        return value
    return datetime.fromtimestamp(int(value) / 1000, UTC)


@register.filter
def iso(value: int | str | datetime | None) -> str:
    """Unix milliseconds or a datetime as `<time datetime>` wants it: 2026-11-20T15:14:00.123Z."""
    moment = ms_datetime(value)
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
