"""The rules of a new site until staff changes them. They are stored in English, and shown in the reader's language."""

from functools import cache

from django.conf import settings
from django.utils.translation import gettext, gettext_noop, override

DEFAULT_RULES: tuple[str, ...] = (
    gettext_noop("Be kind. Do not harass, threaten or insult anybody."),
    gettext_noop("No hate: attack nobody for what they are, where they come from or what they believe."),
    gettext_noop("Put nudity and violence behind a content warning. Do not encourage anybody to hurt themselves."),
    gettext_noop("Be yourself: pretend to be nobody else, and mark accounts of programs."),
    gettext_noop("No spam, no fraud, and nothing that is against the law."),
)


def rule_text(rule: str) -> str:
    """Return the rule in the active language if it is one of the default rules, else as staff wrote it."""
    return gettext(rule) if rule in DEFAULT_RULES else rule


def rule_from_text(text: str) -> str:
    """Return the rule to store for a line that a form showed in the active language."""
    return next((rule for rule in DEFAULT_RULES if gettext(rule) == text), text)


@cache
def rule_translations(rule: str) -> dict[str, str]:
    """Return a default rule in the languages of the site, by their codes. A rule of staff has no translations."""
    texts: dict[str, str] = {}
    for code, _name in settings.LANGUAGES if rule in DEFAULT_RULES else ():
        with override(code):
            texts[code] = gettext(rule)
    return texts
