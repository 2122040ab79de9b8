"""The fields of a profile on the page of settings and on the profile. Cases of other sites name their reports."""

import re
from typing import Any

import pytest
from msgspec import structs

from accounts.profile_texts import encode_fields
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser

SETTINGS = "/accounts/settings/"


def rows(*pairs: tuple[str, str]) -> dict[str, str]:
    """Return the inputs of all four rows."""
    filled = [*pairs, *[("", "")] * 4][:4]
    return {
        f"field_{part}_{number}": text
        for number, pair in enumerate(filled, 1)
        for part, text in zip(("name", "value"), pair, strict=True)
    }


async def save(who: HttpBrowser, *pairs: tuple[str, str]) -> Any:
    """Save the form without scripts."""
    return await who.post(SETTINGS, **rows(*pairs))


async def test_fields_are_saved_shown_and_removed(alice: HttpBrowser, bob: HttpBrowser) -> None:
    assert (await save(alice, ("Pronouns", "she/her"), ("Site", "https://a.example.org/about"))).status_code == 303
    page = (await bob.get("/@alice/")).text
    assert re.findall(r"<dt><bdi>(.*?)</bdi></dt>", page) == ["Pronouns", "Site"]
    assert '<a class="link" href="https://a.example.org/about" rel="me nofollow noopener" dir="ltr">' in page
    assert "she/her" in page
    account = (await bob.get_json("/@alice/")).json()["account"]
    assert account["fields"][0] == {"name": "Pronouns", "value": "she/her", "verified_at": None}
    assert 'value="she/her"' in (await alice.get(SETTINGS)).text
    assert (await save(alice)).status_code == 303
    assert "profile-fields" not in (await bob.get("/@alice/")).text
    assert "fields" not in (await alice.get_json(SETTINGS)).json()["account"]


async def test_a_verified_link_has_a_mark_with_a_text(alice: HttpBrowser, bob: HttpBrowser, site: Services) -> None:
    await save(alice, ("Site", "https://a.example.org"), ("Other", "https://b.example.org"))
    account = await site.accounts.get_by_handle("alice")
    fields = [structs.replace(each, verified_ms=8_000 * (each.name == "Site")) for each in account.filled_fields]
    verified = encode_fields(fields), account.fields
    assert "Verified:" not in (await bob.get("/@alice/")).text
    await site.repositories.accounts.replace_text(AccountId(account.id), "fields", *verified)
    assert (await bob.get("/@alice/")).text.count("Verified: the page links back to this profile") == 1
    shown = (await bob.get_json("/@alice/")).json()["account"]["fields"]
    assert [each["verified_at"] for each in shown] == ["1970-01-01T00:00:08.000Z", None]
    await save(alice, ("Renamed", "https://a.example.org"))
    assert "Verified:" in (await bob.get("/@alice/")).text


async def test_an_edit_of_another_text_keeps_the_fields(alice: HttpBrowser) -> None:
    await save(alice, ("a", "b"))
    account = (await alice.post_json(SETTINGS, bio="Hi")).json()["account"]
    assert (account["bio"], account["fields"][0]["value"]) == ("Hi", "b")


async def test_a_page_that_was_opened_before_keeps_the_rows_that_another_page_changed(alice: HttpBrowser) -> None:
    await save(alice, ("first", "row"), ("second", "row"))
    shown = rows(("first", "row"), ("second", "row"))
    opened = {f"initial-{name}": text for name, text in shown.items()}
    await save(alice, ("first", "row"), ("changed", "on the other page"), ("third", "new"))
    answer = await alice.post(SETTINGS, **opened, **(shown | {"field_value_1": "changed here"}))
    assert answer.status_code == 303
    fields = (await alice.get_json(SETTINGS)).json()["account"]["fields"]
    assert [(each["name"], each["value"]) for each in fields] == [
        ("first", "changed here"),
        ("changed", "on the other page"),
        ("third", "new"),
    ]


async def test_a_row_keeps_its_place(alice: HttpBrowser) -> None:
    await save(alice, ("", ""), ("second", "row"))
    assert re.search(r'name="field_name_2" value="second"', (await alice.get(SETTINGS)).text)
    assert [each["name"] for each in (await alice.get_json(SETTINGS)).json()["account"]["fields"]] == ["second"]


@pytest.mark.parametrize(
    ("pair", "wrong"),
    [
        (("", "only a value"), "field_name_2"),  # mastodon#33201: the value was lost, and the page said "saved"
        (("only a name", ""), "field_value_2"),
        (("\u200b\u2060", "a name of zero-width characters"), "field_name_2"),
        (("a value of them", "\u200b\u3164"), "field_value_2"),
        (("n" * 256, "long"), "field_name_2"),
        (("long", "v" * 256), "field_value_2"),
        (("a\x07", "control"), "field_name_2"),
    ],
)
async def test_a_refused_row_says_so_beside_it_and_loses_nothing(
    alice: HttpBrowser, pair: tuple[str, str], wrong: str
) -> None:
    answer = await save(alice, ("first", "row"), pair)
    page = answer.text
    assert answer.status_code == 422
    assert len(re.findall(r'name="field_(?:name|value)_\d"', page)) == 8, "mastodon#7486: only filled rows came back"
    assert f'id="id_{wrong}_error"' in page
    assert len(re.findall(r'class="errors"', page)) == 1
    for text in ("first", "row", pair[0], pair[1]):
        assert not text.strip() or f'value="{text}"' in page
    assert "fields" not in (await alice.get_json(SETTINGS)).json()["account"]


async def test_markup_emoji_and_arabic_are_shown_as_they_are(alice: HttpBrowser, bob: HttpBrowser) -> None:
    pairs = (
        ("<b>x</b>", '<a href="javascript:1">y</a>'),
        ("🏳️‍🌈", "👩‍👩‍👧"),
        ("الموقع", "نص عربي https://a.example.org"),
        ("n" * 255, "v" * 255),
    )
    assert (await save(alice, *pairs)).status_code == 303
    shown = (await alice.get_json(SETTINGS)).json()["account"]["fields"]
    assert [(each["name"], each["value"]) for each in shown] == list(pairs)
    text = (await bob.get("/@alice/")).text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<b>x" not in text


async def test_lines_become_one_line_and_hidden_characters_are_removed(alice: HttpBrowser) -> None:
    await alice.post_json(SETTINGS, **rows(("two\nlines", "a\n\n b\u202e c")))
    field = (await alice.get_json(SETTINGS)).json()["account"]["fields"][0]
    assert (field["name"], field["value"]) == ("two lines", "a b c")


async def test_blocked_words_and_hosts_are_refused_in_the_row(alice: HttpBrowser, site: Services) -> None:
    await site.site.change(blocked_words=("casino",), blocked_hosts=("bad.example.org",))
    answer = await alice.post_json(SETTINGS, **rows(("fine", "fine"), ("Casino", "see https://bad.example.org/x")))
    assert (answer.status_code, set(answer.json()["fields"])) == (422, {"field_name_2", "field_value_2"})


async def test_a_deleted_account_keeps_no_fields(alice: HttpBrowser, site: Services) -> None:
    await save(alice, ("a", "b"))
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.delete(account_id=AccountId(account.id))
    deleted = await site.accounts.find(AccountId(account.id))
    assert deleted is not None
    assert deleted.fields == ""
