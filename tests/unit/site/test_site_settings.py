"""The fields of the site's settings: cleaned values, refused values, and the variables of the environment."""

from typing import Any

import msgspec
import pytest
from django.core.exceptions import ImproperlyConfigured

from socialsite.errors import Invalid
from socialsite.site import settings


def test_texts_and_lists_are_cleaned() -> None:
    changed = settings.apply_changes(
        settings.SiteSettings(),
        {
            "name": "  My \u202e site ",
            "rules": ["Be kind.", "", " Be  kind. ", "Mark bots."],
            "blocked_hosts": ["Spam.Example "],
            "held_hashtags": ["#Spam", "Straße", "＃ＴＥＡ"],
            "accent": "#0B57D0",
            "joining": "invitation",
        },
    )
    assert changed == settings.SiteSettings(
        name="My site",
        rules=("Be kind.", "Mark bots."),
        blocked_hosts=("spam.example",),
        held_hashtags=("spam", "strasse", "tea"),
        accent="#0b57d0",
        joining="invitation",
    )


def test_a_text_without_a_visible_character_is_empty() -> None:
    changed = settings.apply_changes(
        settings.SiteSettings(), {"name": "\u200b", "welcome": " \u2060\n", "about": "\u3164"}
    )
    assert (changed, changed.title) == (settings.SiteSettings(), "Socialsite")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "x" * 41),
        ("accent", "red"),
        ("accent", "#12345g"),
        ("rules", [f"rule {number}" for number in range(101)]),
        ("rules", ["x" * 301]),
        ("joining", "sometimes"),
        ("newcomer_days", -1),
        ("newcomer_days", 366),
        ("members_only", "yes"),
        ("default_audience", "nobody"),
        ("no_such_field", 1),
    ],
)
def test_a_wrong_value_is_refused_with_its_field(name: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        settings.apply_changes(settings.SiteSettings(), {name: value, "about": "fine"})
    assert list(refused.value.fields) == [name]


def test_unknown_stored_fields_are_ignored_and_absent_fields_have_defaults() -> None:
    stored = b'{"name": "Ours", "of_the_next_release": 1}'
    assert msgspec.json.decode(stored, type=settings.SiteSettings) == settings.SiteSettings(name="Ours")


def test_each_field_has_a_variable() -> None:
    values = dict.fromkeys(settings.FIELDS, "1") | {
        "accent": "#000000", "joining": "closed", "default_audience": "followers", "rules": "One; two;one",
        "logo": f"1-{'a' * 32}",
    }  # fmt: skip
    found = settings.parse_environment({settings.variable_of(name): value for name, value in values.items()})
    assert found.keys() == set(settings.FIELDS)
    assert found["rules"] == ("One", "two", "one")
    assert found["members_only"] is True
    assert found["newcomer_days"] == 1
    assert settings.parse_environment({"SITE_NAME": "", "SITE_URL": "https://example.org"}) == {}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SITE_JOINING", "never"),
        ("SITE_LOGO", "../x"),
        ("SITE_HELD_ACCOUNTS", "@spammer"),
        ("SITE_MEMBERS_ONLY", "perhaps"),
        ("SITE_NEWCOMER_DAYS", "999"),
    ],
)
def test_a_wrong_variable_is_named(variable: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=variable):
        settings.parse_environment({variable: value})


def test_every_text_and_list_has_a_limit() -> None:
    fields = msgspec.structs.fields(settings.SiteSettings)
    bounded = {field.name for field in fields if field.type is str or field.default == ()}
    assert bounded == {*settings.TEXT_LENGTHS, *settings.LIST_SIZES}
