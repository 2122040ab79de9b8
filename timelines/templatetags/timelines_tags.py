"""Template tags and filters: icons, avatars, times and numbers.

They are pure functions of their arguments: no request, no store. Words stay in the templates.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from typing import Any

import regex
from django import template
from django.conf import settings
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext

from accounts.domain import picture_url
from accounts.roles import RIGHTS_BY_ROLE, Right
from socialsite import __version__
from socialsite.characters import readable_url
from socialsite.site.rules import rule_text

register = template.Library()

register.filter(readable_url)


@register.filter(name="rule")
def show_rule(rule: str) -> str:
    """Return a rule of the site in the active language."""
    return rule_text(rule)


@register.filter
def may(viewer: Mapping[str, str], right: Right) -> bool:
    """Return whether the role of the viewer has the right: `{% if viewer|may:"site" %}`."""
    return right in RIGHTS_BY_ROLE.get(viewer["role"], ())


PLURAL_SAMPLES = 200
"""The numbers below this one include every plural form of every language."""
AVATAR_IMAGE = '<img src="{}" alt="" width="44" height="44" loading="lazy" decoding="async">'
AVATAR_CACHE_SIZE = 4_096
HUE_COUNT = 12
"""Avatar colours; static/css/site.css has one class `hue-N` for each."""


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return a decorative icon of the sprite static/icons.svg. Templates put its meaning into words."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
def avatar(account: Any, size: str = "", *, is_link: bool = False) -> SafeString:
    """Return the decorative picture of an account: its avatar, or the first letter of its name on its colour.

    `account` has `id`, `handle`, `display_name` and `avatar`, as attributes or, in rows that are also JSON, as keys;
    the key `avatar` contains a URL. `size` is "", "icon", "small" or "large".
    """
    if isinstance(account, Mapping):
        id, handle, name, url = account["id"], account["handle"], account["display_name"], account.get("avatar", "")
        url = url if size == "large" else url.replace("/full.", "/small.")
    else:
        id, handle, name = account.id, account.handle, account.display_name
        url = picture_url(account.avatar, "full" if size == "large" else "small")
    return _avatar(id, handle, name or handle, url, size, is_link)


@lru_cache(maxsize=AVATAR_CACHE_SIZE, typed=True)
def _avatar(id: int, handle: str, name: str, url: str, size: str, is_link: bool) -> SafeString:
    tag = "a" if is_link else "span"
    size_class = f"avatar-{size} " if size else ""
    link = f' href="/@{escape(handle)}/" tabindex="-1"' if is_link else ""
    content = AVATAR_IMAGE.format(escape(url)) if url else escape(initial(name))
    return SafeString(f'<{tag} class="avatar {size_class}hue-{hue(id)}"{link} aria-hidden="true">{content}</{tag}>')


@register.simple_tag
def plural_samples() -> list[int]:
    """Return the smallest number of each plural form of the language, such as 0 and 1 in English."""
    samples: dict[str, int] = {}
    for n in range(PLURAL_SAMPLES):
        samples.setdefault(ngettext("1 new post", "{n} new posts", n), n)
    return list(samples.values())


@register.simple_tag
def site_version() -> str:
    return __version__


@register.simple_tag
def kept(template_name: str) -> SafeString:
    """Include a template that needs no context. It is rendered once per language."""
    if settings.DEBUG:
        return render_to_string(template_name)
    return _render_cached(template_name, get_language())


@lru_cache(maxsize=64)
def _render_cached(template_name: str, language: str | None) -> SafeString:
    """Render a template. `language` is the active language, a part of the cache key."""
    return render_to_string(template_name)


@register.filter
def hue(account_id: int | str) -> int:
    """Return the avatar colour of an account, which never changes."""
    digits = str(account_id)
    return int(digits) % HUE_COUNT if digits.isdecimal() else 0


@register.filter
def initial(name: str) -> str:
    """Return the first grapheme of a name, with its accents."""
    match = regex.match(r"\X", name.strip())
    return match[0].upper() if match else "?"


@register.filter
def device(value: str) -> str:
    """Translate the name of a device: "Firefox on Linux"."""
    browser, separator, system = value.partition(" on ")
    return gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system} if separator else value


@register.filter
def number(value: int | str | None) -> str:
    """Format a number in the active language: 12,345 or 12.345."""
    return "" if value is None or value == "" else number_format(value, use_l10n=True, force_grouping=True)


@register.filter
def ms_datetime(value: int | str | datetime | None) -> datetime | None:
    """Convert Unix ms to a UTC datetime. A datetime is returned unchanged."""
    if value is None or isinstance(value, datetime):
        return value
    return datetime.fromtimestamp(int(value) / 1000, UTC)


@register.filter
def iso(value: int | str | datetime | None) -> str:
    """Format Unix ms or a datetime for `<time datetime>`: 2026-11-20T15:14:00.123Z."""
    moment = ms_datetime(value)
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
