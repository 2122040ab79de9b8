"""The form of the site's settings: one field for each setting, in groups. The page sends all groups together."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django import forms
from django.conf import settings as django_settings
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from socialsite.site.rules import rule_from_text, rule_text
from socialsite.site.settings import LIST_SIZES, NEWCOMER_DAYS_MAX, TEXT_LENGTHS, TEXTS, SiteSettings, variable_of
from socialsite.web.initial_values import add_hidden_copy

GROUPS: Mapping[str, tuple[str | Promise, tuple[str, ...]]] = {
    "about": (_("About the site"), ("name", "description", "contact", "welcome", "staff")),
    "joining": (_("Who may join and read"), ("joining", "members_invite", "members_only")),
    "limits": (_("Limits of new accounts"), ("newcomer_days", "holds_first_links")),
    "rules": (_("Rules"), ("rules",)),
    "words": (_("Words, hosts and hashtags"), ("blocked_words", "blocked_hosts", "blocked_mail_domains",
                                              "held_hashtags", "reviews_trends", "suggests_accounts")),
    "looks": (_("Looks and defaults"), ("accent", "default_language", "default_audience")),
    "about_text": (_("Page about the site"), ("about",)),
    "privacy_text": (_("Page about privacy"), ("privacy",)),
    "terms_text": (_("Page of the terms of use"), ("terms",)),
}  # fmt: skip
"""Group -> its heading and its fields."""
JOINING_CHOICES = (
    ("open", _("Everybody")),
    ("approval", _("Everybody, after staff has approved it")),
    ("invitation", _("Only people with an invitation")),
    ("closed", _("Nobody")),
)
SHORT_TEXT_LENGTH = 1_000
AUDIENCE_CHOICES = (
    ("public", _("Everyone")),
    ("unlisted", _("Everyone, but not in public")),
    ("followers", _("Followers")),
)


def _text(label: Any, help_text: Any = "", *, rows: int = 0) -> forms.Field:
    widget = forms.Textarea(attrs={"rows": rows, "dir": "auto"}) if rows else forms.TextInput(attrs={"dir": "auto"})
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)


def _checkbox(label: Any, help_text: Any = "") -> forms.Field:
    return forms.BooleanField(label=label, help_text=help_text, required=False)


ONE_A_LINE = _("One on each line.")
PARAGRAPHS = _("An empty line begins a paragraph, a line that begins with - is an item of a list. Leave this empty to "
               "show the text of this software.")  # fmt: skip


class SiteForm(forms.Form):
    """The fields of one group. Fields that the environment sets are disabled, and say so."""

    name = _text(_("Name"))
    description = _text(_("Description"), _("One or two sentences, which search engines and apps show."), rows=3)
    contact = _text(_("Contact"), _("A mail address or a web address at which people reach you."))
    welcome = _text(_("Welcome text"), _("Visitors see it on the first page and at the sign-up."), rows=3)
    staff = _text(
        _("People named on the page about the site"), _("Handles, one on each line. Ask these people first."), rows=3
    )
    joining = forms.ChoiceField(label=_("Who may join"), choices=JOINING_CHOICES, widget=forms.RadioSelect)
    members_invite = _checkbox(_("Members may invite others"), _("Staff always may."))
    members_only = _checkbox(
        _("Members only"), _("Nothing can be read without a log-in: no page, feed, picture or preview.")
    )
    newcomer_days = forms.IntegerField(
        label=_("Days with lower limits"), min_value=0, max_value=NEWCOMER_DAYS_MAX,
        help_text=_("A new account posts and follows less in its first days. 0 means no lower limits."),
    )  # fmt: skip
    holds_first_links = _checkbox(
        _("Hold first posts with links"), _("The first posts of a new account that have a link wait for staff.")
    )
    rules = _text(_("Rules"), _("One on each line. People who report a post choose the rule that it breaks."), rows=8)
    blocked_words = _text(_("Words that posts may not have"), ONE_A_LINE, rows=5)
    blocked_hosts = _text(_("Hosts that links may not lead to"), ONE_A_LINE, rows=5)
    blocked_mail_domains = _text(_("Domains of mail addresses that may not join"), ONE_A_LINE, rows=5)
    held_hashtags = _text(_("Hashtags that never trend"), ONE_A_LINE, rows=5)
    reviews_trends = _checkbox(_("Hashtags trend only after staff has allowed them"))
    suggests_accounts = _checkbox(_("Suggest accounts to follow"))
    accent = _text(
        _("Accent colour"),
        _("Such as #0b57d0. For dark pages it is made lighter. Leave it empty for the colour of this software."),
    )
    default_language = forms.ChoiceField(
        label=_("Language for visitors"), required=False, choices=django_settings.LANGUAGES,
        help_text=_("It is used if a browser asks for none of the languages of the site."),
    )  # fmt: skip
    default_audience = forms.ChoiceField(
        label=_("Who sees the posts of new accounts"), choices=AUDIENCE_CHOICES,
        help_text=_("Everybody can choose otherwise for their own posts."),
    )  # fmt: skip
    about = _text(_("About the site"), PARAGRAPHS, rows=12)
    privacy = _text(_("Privacy"), PARAGRAPHS, rows=16)
    terms = _text(_("Terms of use"), PARAGRAPHS, rows=16)

    def __init__(
        self,
        names: tuple[str, ...],
        settings: SiteSettings,
        from_environment: frozenset[str],
        data: Mapping[str, Any] | None = None,
    ) -> None:
        values = {name: getattr(settings, name) for name in names}
        if "default_language" in values:
            values["default_language"] = values["default_language"] or django_settings.LANGUAGE_CODE
        if "rules" in values:
            values["rules"] = tuple(map(rule_text, values["rules"]))
        initial = {name: "\n".join(value) if name in LIST_SIZES else value for name, value in values.items()}
        if data is not None and "group" in data:  # absent fields keep their values; an unchecked checkbox is absent
            absent = {name: each for name, each in initial.items() if name not in data and not isinstance(each, bool)}
            data = {**data, **absent} | {self.add_initial_prefix(name): value for name, value in absent.items()}
        super().__init__(data, initial=initial)
        for name in tuple(self.fields):
            if name not in names:
                del self.fields[name]
        for name, field in self.fields.items():
            # The page also sends the values that it showed, so that an old page does not undo a later change.
            is_short = TEXT_LENGTHS.get(name, 0) <= SHORT_TEXT_LENGTH
            if name in from_environment:
                field.disabled, field.help_text = True, describe_variable(name)
            elif is_short and (data is None or "group" in data):
                add_hidden_copy(field)

    def changes(self) -> dict[str, Any]:
        """Return the new values of the fields that were changed, as `SiteService.change` takes them.

        The page also sent the lines that it showed, so that lines of another page are kept. JSON replaces a list.
        """
        values: dict[str, Any] = {name: self.cleaned_data[name] for name in self.changed_data}
        for name in values.keys() & TEXTS:
            if self.data.get(f"shown-{name}") == _digest(values[name]):
                del values[name]  # unchanged on the page, perhaps changed in the store
        for name in values.keys() & LIST_SIZES.keys():
            values[name] = lines = _split_lines(name, values[name])
            if (shown := self.data.get(self.add_initial_prefix(name))) is not None:
                values[name] = partial(_merge_lines, _split_lines(name, shown), lines)
        return values

    def digests(self) -> list[tuple[str, str]]:
        """Return the names of the hidden fields that tell which long texts the page showed, and their values."""
        return [(f"shown-{name}", _digest(self.initial[name])) for name in TEXTS if name in self.fields]


def describe_variable(name: str) -> str:
    sentence = gettext("The variable %(variable)s of the server sets this. It can only be changed there.")
    return sentence % {"variable": variable_of(name)}


def _digest(text: str) -> str:
    """Return a digest of a text, in which line ends and outer spaces do not count."""
    return hashlib.sha256("\n".join(text.strip().splitlines()).encode()).hexdigest()[:32]


def _split_lines(name: str, text: str) -> list[str]:
    lines = text.splitlines()
    return [rule_from_text(line.strip()) for line in lines] if name == "rules" else lines


def _merge_lines(shown: Sequence[str], sent: Sequence[str], stored: Sequence[str]) -> list[str]:
    """Return the lines that were sent, without those that were removed meanwhile and with those that were added."""
    kept = [line for line in sent if line in stored or line not in shown]
    return kept + [line for line in stored if line not in shown]
