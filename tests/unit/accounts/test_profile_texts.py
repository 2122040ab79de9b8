"""The texts of a profile, and preferences."""

from functools import partial

import pytest
from msgspec import structs

from accounts.accounts.validation import InvalidText, clean_profile_text
from accounts.domain import Preferences, decode_preferences, encode_preferences
from accounts.forms import complete_link
from accounts.profile_texts import PROFILE_TEXTS

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"

NAME, BIO, LINK = (PROFILE_TEXTS[name] for name in ("display_name", "bio", "link"))

clean_name, clean_bio, clean_link = (partial(clean_profile_text, text) for text in (NAME, BIO, LINK))


def code_of(clean, raw):
    with pytest.raises(InvalidText) as refused:
        clean(raw)
    return refused.value.code


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("Alice", "Alice"),
        ("  Alice   B ", "Alice B"),
        ("Ame\u0301lie", "Am\u00e9lie"),
        ("\u05d0\u05d1\u05d2", "\u05d0\u05d1\u05d2"),
        (FAMILY, FAMILY),
        ("<script>", "<script>"),
        ("al\u200bice\u2060\u200d", "alice"),
        ("al\ufff0ice\U000e0fff", "alice"),  # freenet/river#488
        ("alice\u2800\u2800 \u2800B\u2800", "alice B"),  # mastodon/mastodon#20273, bluesky-social/social-app#5703
        ("\uff21\uff4c\U0001d4f2ce", "Alice"),
        ("Caf\u00e9 \u2122", "Caf\u00e9 \u2122"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
    ],
)
def test_a_name_is_stored_in_normalized_form(raw, stored):
    assert clean_name(raw) == stored


def test_a_name_has_at_most_fifty_graphemes():
    assert clean_name(FAMILY * NAME.limit) == FAMILY * NAME.limit
    assert code_of(clean_name, FAMILY * (NAME.limit + 1)) == "too_long"
    assert code_of(clean_name, "a" * (NAME.limit + 1)) == "too_long"


@pytest.mark.parametrize("raw", ["", "   ", "\u200b", "\u200d\u2060", "\u3164", "\u2800"])
def test_a_name_must_be_visible(raw):
    assert code_of(clean_name, raw) == "empty"


@pytest.mark.parametrize(
    "raw", ["a\x00b", "a\x1bb", "a\x85b", "a\nb", "a\ud800b", "a\u2028b", "a\u202eb", "a\u2066b", "a\ufffeb"]
)
def test_a_name_with_hidden_characters_is_refused(raw):
    assert code_of(clean_name, raw) == "characters"


def test_a_name_with_stacked_marks_is_refused():
    assert clean_name("a" + "\u0315" * 8)
    assert code_of(clean_name, "a" + "\u0315" * 9) == "characters"


def test_joiners_cannot_make_a_grapheme_of_unlimited_length():
    assert code_of(clean_name, "a" + "\u200d" * 2000) == "too_long"


def test_a_bio_keeps_its_lines_and_may_be_empty():
    assert clean_bio("one\r\ntwo\rthree\n") == "one\ntwo\nthree"
    assert clean_bio("  ") == ""
    assert len(clean_bio("x" * BIO.limit)) == BIO.limit
    assert code_of(clean_bio, "x" * (BIO.limit + 1)) == "too_long"
    assert code_of(clean_bio, "a\x07") == "characters"


@pytest.mark.parametrize(
    "link",
    [
        "",
        "https://example.org",
        "http://example.org:8080/a?b=c#d",
        "HTTPS://Example.org/",
        "https://\u00fc.example/",
        "https://fa.example.org/wiki/\u0646\u06cc\u0645\u200c\u0641\u0627\u0635\u0644\u0647",
        "https://example.org/It's|That's",
    ],
)
def test_links_to_the_web_are_stored_as_they_are(link):
    assert clean_link(f" {link} ") == link


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "example.org",
        "//example.org",
        "ftp://example.org",
        "https://",
        "https:///path",
        "https:example.org",
        "https://bank.example@evil.example/",
        "https://exa mple.org/",
        "https://example.org/\nSet-Cookie:",
        "https://example.org:port/",
        "https://[::1",
        'https://example.org/"onclick="x',
        "https://example.org\\@evil.example",
        "https://example.org/\u202e",
        "https://exa\u200cmple.org/",
        "https://example.org'/",
    ],
)
def test_a_text_that_is_not_a_web_address_is_refused_as_a_link(link):
    assert code_of(clean_link, link) == "link"


@pytest.mark.parametrize(
    ("typed", "link"),
    [
        ("example.org/wiki/Help:Contents", "https://example.org/wiki/Help:Contents"),
        ("example.org:8443", "https://example.org:8443"),
        ("http://example.org", "http://example.org"),
        ("javascript:alert(1.5)", None),
        ("mailto:a@example.org", None),
    ],
)
def test_a_typed_address_may_have_no_scheme(typed, link):
    completed = complete_link(typed)
    assert (completed == link) if link else (code_of(clean_link, completed) == "link")


def test_a_link_has_a_bounded_length():
    assert code_of(clean_link, "https://example.org/" + "a" * LINK.limit) == "too_long"


def test_preferences_of_an_earlier_release_have_the_defaults_of_new_fields() -> None:
    assert decode_preferences("").is_discoverable
    assert decode_preferences('[true,"de",["fr"],"unlisted"]') == Preferences(True, "de", ("fr",), "unlisted")


def test_preferences_are_read_as_they_were_stored() -> None:
    hidden = structs.replace(Preferences(), is_discoverable=False)
    assert decode_preferences(encode_preferences(hidden)) == hidden
