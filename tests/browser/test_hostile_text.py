"""Text of strangers stays text in a real browser: attack and naughty collections in every field.

An attack succeeds if a dialog opens, a request goes to another site, a script throws or the page's policy blocks
something. The page also has to show each text exactly as typed. `ATTACK_PAYLOADS=all` tries each collection
completely, one text a post; without it texts share posts, and fields get a selection. `make test` posts a selection.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser

from tests.support.chromium import BrowserPage, InjectionWatch
from tests.support.daphnes import NO_LIMITS
from tests.support.hostile_input import fields_first, select_publishable
from tests.support.sites import QuickstartSite, running_site
from tests.support.visitor import HttpVisitor
from timelines.text.post_text import grapheme_count

WHOLE = os.environ.get("ATTACK_PAYLOADS") == "all"
PEOPLE = 100 if WHOLE else 5
POSTED = None if WHOLE or os.environ.get("NIGHTLY") else 300
"""How many texts are posted; None for all, about 1,000."""
TYPED = """() => [...document.querySelectorAll('ol[data-timeline] article .post-text')].map((text) => {
  const copy = text.cloneNode(true);
  copy.querySelectorAll('br').forEach((br) => br.replaceWith('\\n'));
  copy.querySelectorAll('a.link').forEach((link) => link.replaceWith('LINK'));
  const strange = [...copy.querySelectorAll('*')].map((found) => found.outerHTML)
    .filter((h) => !/^<a class="(mention|hashtag)" href="\\/[^"]*" rel="nofollow ugc noopener"( dir="ltr")?>/.test(h));
  return [copy.textContent, ...strange];
})"""
"""The text of each entry with links as LINK, then the elements that no text may create."""
AS_SENT = "() => [...document.querySelectorAll('ol[data-timeline] article')].map((e) => e.dataset.postId)"


@pytest.fixture(scope="module")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickstartSite]:
    """A site without rate limits and without other writers."""
    settings = {**NO_LIMITS, "RATE_LIMIT_SEARCH": "off", "FOLLOWING_CAP": "500"}
    with running_site(tmp_path_factory.mktemp("hostile") / "data", **settings) as running:
        yield running


@pytest.fixture
def watched(own_site: QuickstartSite, chromium: Browser) -> Iterator[InjectionWatch]:
    context = chromium.new_context(reduced_motion="reduce")
    context.set_default_timeout(30_000)
    yield InjectionWatch(BrowserPage(context.new_page(), own_site.url), urlsplit(own_site.url).netloc)
    context.close()


def together(texts: Sequence[str]) -> Iterator[str]:
    """Yield several texts joined by line breaks, as many as fit into a post."""
    lines: list[str] = []
    for text in texts:
        if lines and (WHOLE or grapheme_count("\n".join([*lines, text])) > 480):
            yield "\n".join(lines)
            lines = []
        lines.append(text)
    yield "\n".join(lines)


def person(site: QuickstartSite, handle: str) -> HttpVisitor:
    return HttpVisitor(site.url, handle, timeout_s=60).sign_up()


def test_posts_are_shown_as_typed_and_run_nothing(own_site: QuickstartSite, watched: InjectionWatch) -> None:
    with person(own_site, "poster") as poster:
        sent = select_publishable(islice(fields_first(), POSTED))
        assert len(sent) > (POSTED or 1_000) * 0.9
        typed = {}
        for text in select_publishable(together(sent)):
            post = poster.publishes(text)
            typed[post["id"]] = post
        texts_by_id: dict[str, str] = {}
        for path, _ in poster.pages("/@poster/"):
            page = watched.opens(path)
            ids = page.evaluate(AS_SENT)
            for post_id, (text, *strange) in zip(ids, page.evaluate(TYPED), strict=True):
                assert strange == [], (typed[post_id]["text"], strange)
                texts_by_id[post_id] = text
        assert texts_by_id.keys() == typed.keys()
        differing = {
            post["text"]: texts_by_id[post["id"]]
            for post in typed.values()
            if not same_but_links(post["text"], texts_by_id[post["id"]])
        }
        assert differing == {}
        watched.reader.sign_in_as(poster)
        for path in ("/?limit=100", "/public/?limit=100", next(iter(typed.values()))["url"]):
            watched.opens(path)


def same_but_links(typed: str, shown: str) -> bool:
    """Return whether `shown` is `typed` with some words replaced by LINK."""
    first, *others = shown.split("LINK")
    if not typed.startswith(first):
        return False
    place = len(first)
    for number, piece in enumerate(others):
        start = typed.rfind(piece) if number == len(others) - 1 and typed.endswith(piece) else -1
        start = start if start >= place else typed.find(piece, place + 1)
        if start < 0:
            return False
        place = start + len(piece)
    return not others or place == len(typed)


def test_names_bios_links_titles_and_phrases_run_nothing(own_site: QuickstartSite, watched: InjectionWatch) -> None:
    """Each account has attacks in its fields; the reader opens every page that shows accounts."""
    reader = person(own_site, "reads_all")
    post = reader.publishes("what all react to")
    attacks = list(islice(fields_first(), PEOPLE))
    people = []
    for number, text in enumerate(attacks):
        attacker = person(own_site, f"hostile{number}")
        bears(attacker, text)
        attacker.follows(reader.handle)
        reader.follows(attacker.handle)
        attacker.publishes(f"@{reader.handle} {text}"[:400], in_reply_to=post["id"])
        for action in ("like", "boost"):
            attacker.post(f"/posts/{post['id']}/{action}/")
        reader.post("/lists/", title=text[:50])
        reader.post("/accounts/filters/", phrase=text[:100])
        people.append(attacker)
    for hidden in people[-2:]:
        reader.post(f"/@{hidden.handle}/block/")
        reader.post(f"/@{people[0].handle}/mute/")
    reader.post("/accounts/settings/", display_name=attacks[0][:50], bio=attacks[1])
    number = reader.get("/lists/")["lists"][0]["id"]
    reader.post(f"/lists/{number}/members/", handle=people[1].handle)
    watched.reader.sign_in_as(reader)
    for path in (
        "/", "/public/", "/notifications/", "/lists/", f"/lists/{number}/", "/accounts/filters/", post["url"],
        "/accounts/blocked/", "/accounts/muted/", "/accounts/settings/", "/accounts/suggestions/",
        f"{post['url']}likes/", f"{post['url']}boosts/", "/@reads_all/", "/@reads_all/followers/",
        "/@reads_all/following/", "/search/?q=hostile", *(f"/@{one.handle}/" for one in people[:3]),
    ):  # fmt: skip
        page = watched.opens(path)
        handlers = page.evaluate(
            "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes])"
            ".filter((a) => /^on/.test(a.name) || (/^(href|src|action|formaction)$/.test(a.name)"
            " && !/^(\\/|https?:|\\?|#)/.test(a.value))).map((a) => `${a.name}=${a.value}`)"
        )
        assert handlers == [], path
    for one in (reader, *people):
        one.http.close()


def bears(visitor: HttpVisitor, text: str) -> None:
    """Save the text in each profile field that accepts it; the link field accepts only web addresses."""
    row = {"field_name_1": text[:255], "field_value_1": text[:255]}
    for fields in ({"display_name": text[:50]}, {"bio": text[:500]}, row):
        assert visitor.post("/accounts/settings/", **fields).status_code in (200, 422)
    for link in (text, f"javascript:{text}", f"//evil.example/{text}", f"data:text/html,{text}"):
        answer = visitor.post("/accounts/settings/", link=link[:200])
        if answer.status_code == 200 and answer.json()["account"]["link"]:
            assert answer.json()["account"]["link"].startswith(("http://", "https://")), link
    visitor.post("/accounts/settings/", link=f"https://example.org/{quote(text[:40])}")


@pytest.mark.nightly
def test_words_in_addresses_run_nothing(own_site: QuickstartSite, watched: InjectionWatch) -> None:
    """Hostile text in queries, tags, handles, cursors and the `next` of the log-in page."""
    texts = list(islice(fields_first(), 200 if WHOLE else 6))
    with person(own_site, "asks") as asks:
        watched.reader.sign_in_as(asks)
        for text in texts:
            word = quote(text[:300].encode("utf-8", "replace"), safe="")
            for path in (f"/search/?q={word}", f"/tags/{word}/", f"/@{word}/", f"/lists/?cursor={word}"):
                watched.opens(path)
    watched.reader.context.clear_cookies()
    for text in texts:
        watched.opens(f"/accounts/login/?next={quote(text[:300].encode('utf-8', 'replace'), safe='')}")


def test_a_live_entry_runs_nothing(own_site: QuickstartSite, watched: InjectionWatch) -> None:
    """A script inserts the entries of a socket into the page, which an attack could use."""
    with person(own_site, "live_one") as author:
        watched.reader.go_to_live("/@live_one/")
        texts = select_publishable(together(select_publishable(islice(fields_first(), 60))))
        for text in texts:
            author.publishes(text)
        author.post("/accounts/settings/", display_name="<img src=x onerror=alert(1)>")
        watched.reader.wait_for(lambda: watched.reader.pill.is_visible())
        watched.reader.pill.click()
        watched.reader.wait_for(lambda: len(watched.reader.entry_ids()) == len(texts))
        watched.reader.page.wait_for_timeout(300)
        watched.check("live")


def test_the_watch_detects_successful_attacks(watched: InjectionWatch) -> None:
    """The watch reports a dialog, a request to another site and a script that throws."""
    watched.reader.page.set_content(
        "<script>alert(1)</script><img src='http://127.0.0.1:9/x.png'><script>nothing.here()</script>"
    )
    watched.reader.wait_for(lambda: len(watched.happened) >= 2 and watched.reader.complaints)
    assert [one.split(" ")[0] for one in watched.happened[:2]] == ["dialog", "request"]
