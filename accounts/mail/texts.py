"""The texts of mails, each a template in templates/mail/texts/ with the name of its kind."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from django.template import Context, Engine

from accounts.mail.values import MailKind

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
