"""Language and theme: chosen on a page, kept in cookies, also of visitors."""

import re

import pytest

from tests.support.browser import HttpBrowser


async def test_a_visitor_chooses_the_theme_of_every_page(site, visitor: HttpBrowser) -> None:
    assert "data-theme" not in (await visitor.get("/public/")).text
    answer = await visitor.post("/display/", theme="dark")
    assert (answer.status_code, answer.headers["location"]) == (303, "/display/")
    for path in ("/public/", "/public/", "/about/", "/nowhere/"):  # the second page is from the page cache
        html = (await visitor.get(path)).text
        assert '<html lang="en" dir="ltr" data-theme="dark">' in html
        assert '<meta name="color-scheme" content="dark">' in html
    await visitor.post("/display/", theme="")
    assert "data-theme" not in (await visitor.get("/public/")).text


async def test_a_reader_chooses_the_text_size_of_every_page(site, visitor: HttpBrowser, alice: HttpBrowser) -> None:
    for browser in (visitor, alice):
        assert "data-text" not in (await browser.get("/public/")).text
        await browser.post("/display/", text_size="larger")
        for path in ("/public/", "/public/", "/about/", "/nowhere/"):  # the second page is from the page cache
            assert '<html lang="en" dir="ltr" data-text="larger">' in (await browser.get(path)).text
        assert re.search(r'value="larger" checked', (await browser.get("/display/")).text)
        assert (await browser.post_json("/display/", text_size="9999px")).status_code == 422
        await browser.post("/display/", text_size="")
        assert "data-text" not in (await browser.get("/public/")).text


async def test_a_chosen_language_wins_over_that_of_the_browser(site, alice: HttpBrowser) -> None:
    await alice.post("/display/", language="de")
    html = (await alice.get("/display/")).text
    assert '<html lang="de"' in html
    assert re.search(r'value="de" checked', html)
    assert (await alice.get_json("/display/")).json() == {"language": "de", "theme": "", "descriptions": ""}


@pytest.mark.parametrize(
    ("accepted", "html"),
    [
        ("pt-BR,pt;q=0.9,en;q=0.5", '<html lang="pt" dir="ltr"'),
        ("ja-JP", '<html lang="ja" dir="ltr"'),
        ("es-MX", '<html lang="es" dir="ltr"'),
        ("ar-EG,en;q=0.5", '<html lang="ar" dir="rtl"'),
        ("eo,pl;q=0.5", '<html lang="pl" dir="ltr"'),
    ],
)
async def test_the_language_of_the_browser_is_that_of_its_pages(
    site, visitor: HttpBrowser, accepted: str, html: str
) -> None:
    page = await visitor.http.get("/accounts/login/", headers={"Accept-Language": accepted})
    assert html in page.text
    assert f'lang="{page.headers["content-language"]}"' in html


async def test_an_unknown_choice_is_refused(site, visitor: HttpBrowser) -> None:
    answer = await visitor.post_json("/display/", theme="pink", language="xx")
    assert answer.status_code == 422
    assert set(answer.json()["fields"]) == {"theme", "language"}
    assert "set-cookie" not in answer.headers


async def test_the_settings_are_grouped_on_one_page(site, alice: HttpBrowser) -> None:
    html = (await alice.get("/accounts/")).text
    names = "settings notifications requests blocked muted filters password sessions delete"
    for name in names.split():
        assert f'<a class="row" href="/accounts/{name}/"' in html
        assert 'href="/accounts/" aria-label="Back to the settings"' in (await alice.get(f"/accounts/{name}/")).text


async def test_the_reminder_to_describe_pictures_can_be_switched_off(alice):
    assert "data-asks" in (await alice.get("/pictures/dialogs/")).text
    await alice.post("/display/", descriptions="off")
    assert "data-asks" not in (await alice.get("/pictures/dialogs/")).text
    await alice.post("/display/", descriptions="")
    assert "data-asks" in (await alice.get("/pictures/dialogs/")).text
