"""Labels of metrics, states and actions, and formats of numbers: the library `staff` of the templates of /ops/."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from accounts.sanctions.texts import KIND_LABELS
from timelines.pages.site_texts import text_html
from timelines.reports.views import CATEGORY_LABELS, OUTCOME_LABELS
from timelines.templatetags.timelines_tags import number

register = template.Library()
register.filter("paragraphs", text_html)

JsonObject = dict[str, Any]
TemplateContext = dict[str, Any]

METRIC_LABELS: Mapping[str, str | Promise] = {
    "posts": gettext_lazy("Posts"),
    "deliveries": gettext_lazy("Deliveries"),
    "requests": gettext_lazy("Requests"),
    "pages": gettext_lazy("Page views"),
    "sockets": gettext_lazy("Sockets opened"),
    "logins": gettext_lazy("Log-ins"),
    "signups": gettext_lazy("Sign-ups"),
    "refusals": gettext_lazy("Refused by rate limits"),
    "errors": gettext_lazy("Errors"),
}
"""Titles of charts, in their order."""
ACTION_LABELS: Mapping[str, str | Promise] = {
    **{str(kind): label for kind, label in KIND_LABELS.items()},
    "undo": gettext_lazy("Decision undone"),
    "appeal_accepted": gettext_lazy("Appeal accepted"),
    "appeal_refused": gettext_lazy("Appeal refused"),
    "reinstate": gettext_lazy("Reinstated"),
    "password": gettext_lazy("Password reset"),
    "sessions": gettext_lazy("Logged out everywhere"),
    "factors": gettext_lazy("Second factors removed"),
    "role": gettext_lazy("Role changed"),
    "token": gettext_lazy("Access token created"),
    "approve": gettext_lazy("Application approved"),
    "refuse_application": gettext_lazy("Application refused"),
    "release_post": gettext_lazy("Held post published"),
    "refuse_post": gettext_lazy("Held post refused"),
    "retry": gettext_lazy("Failed job retried"),
    "drop": gettext_lazy("Failed job deleted"),
    "report_claim": gettext_lazy("Report claimed"),
    "report_takeover": gettext_lazy("Report taken over"),
    "report_close": gettext_lazy("Report closed without an action"),
    "announce": gettext_lazy("Announcement published"),
    "unannounce": gettext_lazy("Announcement removed"),
    "site": gettext_lazy("Settings of the site changed"),
    "hold": gettext_lazy("Held back from trends or suggestions"),
    "show": gettext_lazy("Shown in trends or suggestions"),
}
ROLE_LABELS: Mapping[str, str | Promise] = {
    "owner": gettext_lazy("Owner"),
    "admin": gettext_lazy("Admin"),
    "moderator": gettext_lazy("Moderator"),
}
LABELS: Mapping[str, Mapping[str, str | Promise]] = {
    "action": ACTION_LABELS,
    "category": {str(category): label for category, (label, _help) in CATEGORY_LABELS.items()},
    "job": {
        "post": gettext_lazy("First pass of a post"),
        "pass": gettext_lazy("Further pass of a post"),
        "purge": gettext_lazy("Clean-up after a deleted account"),
        "edit": gettext_lazy("Edit of a post"),
        "fade": gettext_lazy("Boosts of a deleted post"),
        "unknown": gettext_lazy("Not a job of this release"),
        "media": gettext_lazy("Picture of a post or profile"),
        "mail": gettext_lazy("Mail"),
        "push": gettext_lazy("Push notification"),
        "previews": gettext_lazy("Link preview"),
        "archives": gettext_lazy("Import"),
        "exports": gettext_lazy("Archive"),
        "slowpictures": gettext_lazy("Picture of a post or profile"),
    },
    "outcome": {str(outcome): label for outcome, label in OUTCOME_LABELS.items()},
    "phase": {"homes": gettext_lazy("Homes"), "lists": gettext_lazy("Lists")},
    "queue": {
        "outbox": gettext_lazy("Outbox"),
        "media": gettext_lazy("Pictures"),
        "mail": gettext_lazy("Mail"),
        "push": gettext_lazy("Push notifications"),
        "previews": gettext_lazy("Link previews"),
        "archives": gettext_lazy("Imports"),
        "exports": gettext_lazy("Archives"),
        "slowpictures": gettext_lazy("Pictures that take long"),
    },
    "role": ROLE_LABELS,
    "sanction": {str(kind): label for kind, label in KIND_LABELS.items()},
    "state": {
        "active": gettext_lazy("Active"),
        "suspended": gettext_lazy("Suspended"),
        "deleted": gettext_lazy("Deleted"),
        "waiting": gettext_lazy("Waits for approval"),
    },
}


@register.filter
def label(name: str, group: str) -> str | Promise:
    """Return the label of a name in a group of LABELS, or the name itself: `{{ account.state|label:"state" }}`."""
    return LABELS[group].get(name, name)


@register.filter
def lookup(values: Mapping[object, object], key: object) -> object | None:
    """Return the value of a key: `{{ authors|lookup:entry.actor_id }}`."""
    return values.get(key)


@register.filter("duration")
def format_duration(ms: float | None) -> str:
    """Return a text such as 12 ms, 3.4 s or 5 min, or a dash for None."""
    if ms is None:
        return "–"
    if ms < 1_000:
        return f"{number(str(round(ms, 1)) if ms < 10 else round(ms))} ms"
    return f"{number(str(round(ms / 1000, 1)))} s" if ms < 120_000 else f"{number(round(ms / 60_000))} min"


@register.filter("percent")
def format_percent(share: float | None) -> str:
    return "–" if share is None else f"{number(round(share * 100))} %"
