"""The texts about the site: those of staff, or else the texts to start from (templates/site/)."""

from typing import Literal

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from socialsite.site.rules import rule_text
from socialsite.site.settings import SiteSettings
from timelines.text.paragraphs import paragraphs_html

SiteText = Literal["about", "privacy", "terms"]
TEXTS_WRITTEN_MS = 1_795_392_000_000
"""The day (2026-11-23) from which the texts to start from are."""


def site_text_html(site: SiteSettings, name: SiteText) -> SafeString:
    """Return the HTML of a text, in the active language if staff wrote none."""
    if text := getattr(site, name):
        return text_html(text)
    context = {
        "site_name": site.title,
        "contact": site.contact,
        "members_only": site.members_only,
        "has_rules": bool(site.rules),
        "grace_days": settings.DELETION_GRACE_DAYS,
        "archive_days": settings.ARCHIVE_KEEP_DAYS,
    }
    return SafeString(render_to_string(f"site/_{name}.html", context).strip())


def text_html(text: str) -> SafeString:
    """Return a text of staff as paragraphs and lists."""
    return SafeString(paragraphs_html(text))


def staff_html(site: SiteSettings) -> SafeString:
    """Return links to the people who are named on the page about the site."""
    return format_html_join(" ", '<a href="/@{}/" dir="ltr">@{}</a>', ((handle, handle) for handle in site.staff))


def rules_html(site: SiteSettings) -> SafeString:
    """Return the rules as a numbered list, or a sentence if there are none."""
    if not site.rules:
        return format_html("<p>{}</p>", _("This site has no rules of its own."))
    return format_html(
        "<ol>{}</ol>", format_html_join("", '<li dir="auto">{}</li>', ((rule_text(rule),) for rule in site.rules))
    )
