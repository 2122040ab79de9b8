"""The pages about the site: texts to start from, texts of staff, and who may read them."""

import pytest
from django.conf import settings

from socialsite.container import Services
from tests.support.browser import HttpBrowser

PAGES = ("/about/", "/rules/", "/privacy/", "/terms/")


@pytest.mark.parametrize("path", PAGES)
async def test_each_page_has_a_text_to_start_from_and_links_the_others(visitor: HttpBrowser, path: str) -> None:
    page = await visitor.get(path)
    assert page.status_code == 200
    assert all(f'href="{other}"' in page.text for other in PAGES)
    assert (await visitor.get_json(path)).status_code == 200


async def test_staff_writes_own_texts_without_html(site: Services, visitor: HttpBrowser) -> None:
    await site.site.change(
        about="We are <b>few</b>.", privacy="One.\n\nTwo:\n- a\n- b\nEnd https://example.org/x", terms="Be kind.",
        rules=["No <i>spam</i>.", "Be kind."], contact="help@example.org", staff=["@Alice"], welcome="Hello\nyou!",
    )  # fmt: skip
    about = (await visitor.get("/about/")).text
    assert "We are &lt;b&gt;few&lt;/b&gt;." in about
    assert '<a href="mailto:help@example.org">help@example.org</a>' in about
    assert '<a href="/@alice/" dir="ltr">@alice</a>' in about
    privacy = (await visitor.get_json("/privacy/")).json()["content"]
    assert privacy.startswith('<p dir="auto">One.</p><p dir="auto">Two:</p><ul><li dir="auto">a</li>')
    assert '<p dir="auto">End <a class="link" href="https://example.org/x"' in privacy
    assert '<ol><li dir="auto">No &lt;i&gt;spam&lt;/i&gt;.</li>' in (await visitor.get("/rules/")).text
    for path in ("/", "/accounts/signup/"):
        assert "Hello<br>you!" in (await visitor.get(path)).text
    policy = (await visitor.get("/api/v1/instance/privacy_policy")).json()
    assert policy == {"updated_at": policy["updated_at"], "content": privacy}
    assert (await visitor.get("/api/v1/instance/terms_of_service")).json()["content"] == '<p dir="auto">Be kind.</p>'


async def test_sign_up_links_the_terms(visitor: HttpBrowser) -> None:
    page = (await visitor.get("/accounts/signup/")).text.partition("<main")[2].partition("</main>")[0]
    assert all(f'href="{path}"' in page for path in PAGES)


async def test_a_members_only_site_offers_visitors_only_pages_that_they_may_read(
    site: Services, visitor: HttpBrowser
) -> None:
    links = ('href="/public/"', 'href="/search/"', 'action="/search/"')
    page = (await visitor.get("/accounts/login/")).text
    assert all(link in page for link in links)
    await site.site.change(members_only=True)
    page = (await visitor.get("/accounts/login/")).text
    assert not [link for link in links if link in page]
    assert "Only members can read this site." in page
    await site.site.change(members_only=False)


async def test_visitors_get_the_default_language_if_their_browser_asks_for_no_other(
    site: Services, visitor: HttpBrowser
) -> None:
    await site.site.change(default_language="de")
    for accepted, language in (("", "de"), ("xx", "de"), ("en-GB,de", "en"), ("de", "de")):
        answer = await visitor.http.get("/rules/", headers={"Accept-Language": accepted})
        assert (answer.headers["content-language"], f'<html lang="{language}"' in answer.text) == (language, True)
    for cookie, language in (("en", "en"), ("fr", "fr"), ("xx", "de"), ('"', "de"), ("../en", "de")):
        cookies = {"Cookie": f"{settings.LANGUAGE_COOKIE_NAME}={cookie}"}
        answer = await visitor.http.get("/rules/", headers={"Accept-Language": "xx", **cookies})
        assert answer.headers["content-language"] == language, cookie
