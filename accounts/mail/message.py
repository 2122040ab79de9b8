"""Builds the message of a mail: a text and an HTML part, without pictures, scripts or tracking.

The texts are templates in templates/mail/texts/, each with the name of its kind.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.headerregistry import Address
from email.utils import formatdate, parseaddr
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template import Context, Engine
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.translation import override

from accounts.mail.values import MailKind, SendMail

UNSUBSCRIBE_PATH = "/accounts/mail/unsubscribe/"
BUTTON = re.compile(r"\[(.+)\]\((.+)\)")


class MailText(NamedTuple):
    """A text. A button with the label leads to the path; both are "" if there is none."""

    subject: str
    paragraphs: list[str]
    label: str = ""
    path: str = ""


def render_text(kind: MailKind, facts: Mapping[str, str]) -> MailText:
    """Return the text in the active language.

    In a template, empty lines separate the subject, the paragraphs, and the button as [label](path). `facts` has the
    name of the site, the handle, the time and the facts of the kind. Each of its `lines` is one more paragraph.
    """
    template = Engine.get_default().get_template(f"mail/texts/{kind}.txt")
    subject, *paragraphs = template.render(Context(facts, autoescape=False)).strip().split("\n\n")
    lines = facts.get("lines", "").splitlines()
    if button := paragraphs and BUTTON.fullmatch(paragraphs[-1]):
        return MailText(subject, [*paragraphs[:-1], *lines], *button.groups())
    return MailText(subject, paragraphs + lines)


def build_message(job: SendMail, facts: Mapping[str, str], site_name: str) -> EmailMultiAlternatives:
    """Return the message of a job. It has the same Message-ID in every try.

    `facts` has the handle, and `path` or `unsubscribe` of the kinds that need them. Raises BadHeaderError if a header
    would contain a line break.
    """
    created, language = datetime.fromtimestamp(job.created_ms / 1000, UTC), job.language or settings.LANGUAGE_CODE
    headers = {
        "Message-ID": f"<{job.id}.{job.account_id}@{mail_host()}>",
        "Date": formatdate(job.created_ms / 1000),
        "Auto-Submitted": "auto-generated",
    }
    if "unsubscribe" in facts:  # RFC 8058
        headers["List-Unsubscribe"] = f"<{settings.SITE_URL}{facts['unsubscribe']}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    with override(language):
        base_facts = {"site": site_name, "time": f"{date_format(created, 'DATETIME_FORMAT')} UTC"}
        text = render_text(job.kind, {**base_facts, **job.context, **facts})
        page = {**facts, "text": text, "site_name": site_name, "site_url": settings.SITE_URL, "language": language}
        plain, html = (render_to_string(f"mail/mail.{ending}", page) for ending in ("txt", "html"))
    message = EmailMultiAlternatives(text.subject, plain, sender(site_name), [job.address], headers=headers)
    message.attach_alternative(html, "text/html")
    return message


def sender(site_name: str) -> str:
    """Return MAIL_FROM, with the name of the site if it has no name."""
    name, address = parseaddr(settings.MAIL_FROM)
    user, _, domain = address.rpartition("@")
    return str(Address(name or site_name, user, domain))  # Django encodes it, in short lines (RFC 5322, 2.1.1)


def mail_host() -> str:
    """Return the host of Message-IDs: that of the site's address, or of MAIL_FROM if the site has none."""
    return urlsplit(settings.SITE_URL).hostname or parseaddr(settings.MAIL_FROM)[1].rpartition("@")[2]
