"""Posts have a language, and readers choose the languages of public timelines."""

import pytest

from tests.support.browser import HttpBrowser


async def publish(author: HttpBrowser, text: str, **fields: str) -> str:
    answer = await author.post_json("/posts/", text=text, **fields)
    assert answer.status_code == 201
    return str(answer.json()["id"])


async def listed(reader: HttpBrowser, path: str) -> list[str]:
    return [post["id"] for post in (await reader.get_json(path)).json()["posts"]]


async def choose(reader: HttpBrowser, **fields: object) -> None:
    assert (await reader.post_json("/accounts/preferences/", **fields)).status_code == 200


async def test_the_text_of_a_post_has_its_language(alice: HttpBrowser) -> None:
    await publish(alice, "guten Morgen", language="de-AT", spoiler_text="Kaffee")
    page = (await alice.get("/public/")).text
    assert '<div class="post-text" dir="auto" lang="de">guten Morgen</div>' in page
    assert '<bdi lang="de">Kaffee</bdi>' in page
    await publish(alice, "no language")
    assert '<div class="post-text" dir="auto">no language</div>' in (await alice.get("/public/")).text


@pytest.mark.parametrize("path", ["/public/", "/tags/tea/"])
async def test_public_timelines_show_the_languages_of_the_reader(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, path: str
) -> None:
    german, french = await publish(bob, "Tee #tea", language="de"), await publish(bob, "thé #tea", language="fr")
    unknown, own = await publish(bob, "#tea"), await publish(alice, "chá #tea", language="pt")
    assert await listed(alice, path) == [own, unknown, french, german]
    await choose(alice, languages=["de", "en"])
    assert await listed(alice, path) == [own, unknown, german]
    assert await listed(visitor, path) == [own, unknown, french, german]
    assert await listed(alice, "/@bob/") == [unknown, french, german]
    await choose(alice, languages=[""])
    assert await listed(alice, path) == [own, unknown, french, german]


async def test_chosen_languages_filter_followed_hashtags_but_not_home(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await alice.post_json("/tags/tea/follow/")
    await alice.post_json("/@bob/follow/")
    french = await publish(bob, "thé #tea", language="fr")
    await choose(alice, languages=["de"])
    assert await listed(alice, "/tags/") == []
    assert await listed(alice, "/") == [french]


async def test_preferences_are_saved_by_field(alice: HttpBrowser) -> None:
    await choose(alice, language="de", languages=["fr", "de", "fr"])
    await choose(alice, open_warnings="1")
    saved = (await alice.get_json("/accounts/preferences/")).json()
    others = {"quote_policy": "public", "show_replies": False}
    assert saved == {"open_warnings": True, "language": "de", "languages": ["fr", "de"], **others}
    page = (await alice.get("/accounts/preferences/")).text
    assert '<option value="de" lang="de" selected>' in page
    assert 'value="fr" checked' in page
    assert '<option value="de" lang="de" selected>' in (await alice.get("/")).text
    await choose(alice, language="")
    assert (await alice.get_json("/accounts/preferences/")).json()["language"] is None


@pytest.mark.parametrize("fields", [{"language": "xx"}, {"languages": ["de", "klingon"]}, {"open_warnings": "perhaps"}])
async def test_unknown_choices_are_refused(alice: HttpBrowser, fields: dict[str, object]) -> None:
    refused = await alice.post_json("/accounts/preferences/", **fields)
    assert refused.status_code == 422
    assert list(refused.json()["fields"]) == list(fields)
