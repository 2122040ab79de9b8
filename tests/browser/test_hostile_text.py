"""Whatever strangers write stays text: attack and naughty collections through every field, in a real browser.

An attack has worked when a dialog opens, anything is asked for beyond this site, a script throws or the
page's policy has to step in. And what was typed is what a reader sees. `ATTACK_PAYLOADS=all` tries each
collection whole, one text a post; without it texts share posts, and fields get a choice.
"""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page

from tests.support.chromium import Reader
from tests.support.corpora import posts
from tests.support.payloads import all_payloads, fields_first
from tests.support.site import Site, running_site
from tests.support.visitor import Visitor
from tests.unit.test_text_conformance import grapheme_cases
from timelines.domain.text import TextRefused, check_post_text, grapheme_count

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WHOLE = os.environ.get("ATTACK_PAYLOADS") == "all"
PEOPLE = 100 if WHOLE else 8
NO_LIMITS = {f"RATE_LIMIT_{rule}": "off" for rule in ("POST", "FOLLOW", "SIGNUP", "SEARCH", "ADDRESS")}
TYPED = """() => [...document.querySelectorAll('ol[data-timeline] article .post-text')].map((text) => {
  const copy = text.cloneNode(true);
  copy.querySelectorAll('br').forEach((br) => br.replaceWith('\\n'));
  copy.querySelectorAll('a.link').forEach((link) => link.replaceWith('LINK'));
  const strange = [...copy.querySelectorAll('*')].map((found) => found.outerHTML)
    .filter((h) => !/^<a class="(mention|hashtag)" href="\\/[^"]*" rel="nofollow ugc noopener">/.test(h));
  return [copy.textContent, ...strange];
})"""
"""The text of each entry as it stands, links as LINK; behind it elements that no text may become."""
COUNTED = """async (texts) => {
  const { graphemes } = await import('/static/js/composer.js');
  return texts.map(graphemes);
}"""
MARK_OF_ORDER = {"\ufeff"}
"""White space to a browser's trim() alone; at a text's ends the browser counts one less."""
AS_SENT = "() => [...document.querySelectorAll('ol[data-timeline] article')].map((e) => e.dataset.postId)"


@dataclass
class Watched:
    """A page, and whatever shows that somebody else's text was run."""

    reader: Reader
    host: str
    happened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.reader.page
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("popup", lambda found: self.happened.append(f"popup {found.url}"))
        page.on("download", lambda found: self.happened.append(f"download {found.url}"))
        page.on("framenavigated", self._navigated)

    def opens(self, path: str) -> Page:
        self.reader.page.goto(self.reader.url + path, wait_until="load")
        self.check(path)
        return self.reader.page

    def check(self, path: str) -> None:
        found = self.happened + self.reader.complaints
        assert not found, (path, found)

    def _dialog(self, dialog: Any) -> None:
        self.happened.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        if urlsplit(request.url).netloc != self.host:
            self.happened.append(f"request {request.url[:200]}")

    def _navigated(self, frame: Any) -> None:
        if frame.url != "about:blank" and urlsplit(frame.url).netloc != self.host:
            self.happened.append(f"navigation {frame.url[:200]}")


@pytest.fixture(scope="module")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site without limits, which nothing else writes to."""
    with running_site(
        tmp_path_factory.mktemp("hostile") / "data", **NO_LIMITS, FOLLOWING_CAP="500"
    ) as running:
        yield running


@pytest.fixture
def watched(own_site: Site, chromium: Browser) -> Iterator[Watched]:
    context = chromium.new_context(reduced_motion="reduce")
    context.set_default_timeout(30_000)
    reader = Reader(context.new_page(), own_site.url)
    yield Watched(reader, urlsplit(own_site.url).netloc)
    context.close()


def publishable(texts: Sequence[str]) -> list[str]:
    """What may be posted of these; others are refused, as tests/unit/test_text_conformance.py says."""
    found = []
    for text in texts:
        try:
            found.append(check_post_text(text, 500))
        except TextRefused:
            continue
    return found


def together(texts: Sequence[str]) -> Iterator[str]:
    """Several in a post, a line each, as many as fit."""
    kept: list[str] = []
    for text in texts:
        if kept and (WHOLE or grapheme_count("\n".join([*kept, text])) > 480):
            yield "\n".join(kept)
            kept = []
        kept.append(text)
    yield "\n".join(kept)


def person(site: Site, handle: str) -> Visitor:
    return Visitor(site.url, handle, timeout_s=60).sign_up()


def test_posts_are_shown_as_typed_and_run_nothing(own_site: Site, watched: Watched) -> None:
    with person(own_site, "poster") as poster:
        sent = publishable(all_payloads())
        assert len(sent) > 900
        typed = {}
        for text in publishable(list(together(sent))):
            post = poster.publishes(text)
            typed[post["id"]] = post
        shown: dict[str, str] = {}
        for path in pages_of(poster, "/@poster/"):
            page = watched.opens(path)
            ids = page.evaluate(AS_SENT)
            for post_id, (text, *strange) in zip(ids, page.evaluate(TYPED), strict=True):
                assert strange == [], (typed[post_id]["text"], strange)
                shown[post_id] = text
        assert shown.keys() == typed.keys()
        differing = {
            post["text"]: shown[post["id"]]
            for post in typed.values()
            if not same_but_links(post["text"], shown[post["id"]])
        }
        assert differing == {}
        watched.reader.signs_in_as(poster)
        for path in ("/?limit=100", "/public/?limit=100", next(iter(typed.values()))["url"]):
            watched.opens(path)


def pages_of(visitor: Visitor, path: str) -> Iterator[str]:
    following: str | None = f"{path}?limit=100"
    while following:
        yield following
        following = visitor.get(following)["next"]


def same_but_links(typed: str, shown: str) -> bool:
    """Whether `shown` is `typed` with LINK in place of some words."""
    first, *others = shown.split("LINK")
    if not typed.startswith(first):
        return False
    place = len(first)
    for number, piece in enumerate(others):
        found = typed.rfind(piece) if number == len(others) - 1 and typed.endswith(piece) else -1
        found = found if found >= place else typed.find(piece, place + 1)
        if found < 0:
            return False
        place = found + len(piece)
    return not others or place == len(typed)


def test_names_bios_links_titles_and_phrases_run_nothing(own_site: Site, watched: Watched) -> None:
    """Each person bears attacks; the reader meets them on every page that shows people."""
    reader = person(own_site, "reads_all")
    post = reader.publishes("what all react to")
    tried = list(islice(fields_first(), PEOPLE))
    people = []
    for number, text in enumerate(tried):
        other = person(own_site, f"hostile{number}")
        bears(other, text)
        other.follows(reader.handle)
        reader.follows(other.handle)
        other.publishes(f"@{reader.handle} {text}"[:400], in_reply_to=post["id"])
        for action in ("like", "boost"):
            other.post(f"/posts/{post['id']}/{action}/")
        reader.post("/lists/", title=text[:50])
        reader.post("/accounts/filters/", phrase=text[:100])
        people.append(other)
    for hidden in people[-2:]:
        reader.post(f"/@{hidden.handle}/block/")
        reader.post(f"/@{people[0].handle}/mute/")
    reader.post("/accounts/settings/", display_name=tried[0][:50], bio=tried[1])
    number = reader.get("/lists/")["lists"][0]["id"]
    reader.post(f"/lists/{number}/members/", handle=people[1].handle)
    watched.reader.signs_in_as(reader)
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


def bears(visitor: Visitor, text: str) -> None:
    """The text in each field of a profile that takes it; a link takes addresses of the web alone."""
    for fields in ({"display_name": text[:50]}, {"bio": text[:500]}):
        assert visitor.post("/accounts/settings/", **fields).status_code in (200, 422)
    for link in (text, f"javascript:{text}", f"//evil.example/{text}", f"data:text/html,{text}"):
        answer = visitor.post("/accounts/settings/", link=link[:200])
        if answer.status_code == 200 and answer.json()["account"]["link"]:
            assert answer.json()["account"]["link"].startswith(("http://", "https://")), link
    visitor.post("/accounts/settings/", link=f"https://example.org/{quote(text[:40])}")


def test_words_in_addresses_run_nothing(own_site: Site, watched: Watched) -> None:
    """Queries, tags, handles, cursors, the way back of the log-in page."""
    texts = list(islice(fields_first(), 200 if WHOLE else 6))
    with person(own_site, "asks") as asks:
        watched.reader.signs_in_as(asks)
        for text in texts:
            word = quote(text[:300].encode("utf-8", "replace"), safe="")
            for path in (f"/search/?q={word}", f"/tags/{word}/", f"/@{word}/", f"/lists/?cursor={word}"):
                watched.opens(path)
    watched.reader.context.clear_cookies()
    for text in texts:
        watched.opens(f"/accounts/login/?next={quote(text[:300].encode('utf-8', 'replace'), safe='')}")


def test_a_live_entry_runs_nothing(own_site: Site, watched: Watched) -> None:
    """What a socket brings is put into the page by a script: the shortest way to a hole."""
    with person(own_site, "live_one") as author:
        watched.reader.goes_live("/@live_one/")
        texts = publishable(list(together(publishable(list(islice(fields_first(), 60))))))
        for text in texts:
            author.publishes(text)
        author.post("/accounts/settings/", display_name="<img src=x onerror=alert(1)>")
        watched.reader.until(lambda: watched.reader.pill.is_visible())
        watched.reader.pill.click()
        watched.reader.until(lambda: len(watched.reader.ids()) == len(texts))
        watched.reader.page.wait_for_timeout(300)
        watched.check("live")


def test_the_browser_counts_every_text_as_the_server_does(watched: Watched) -> None:
    """Unicode's own cases, every emoji, naughty strings, posts in scripts that join their letters."""
    texts = [text for _, text, _ in grapheme_cases()] + publishable(all_payloads())
    for name in ("wisesight-thai", "nsmc-korean", "arsarcasm-arabic"):
        texts += publishable([row["text"] for row in islice(posts(name), 200)])
    kept = [text for text in texts if text == text.strip() and not MARK_OF_ORDER & {text[:1], text[-1:]}]
    assert len(kept) > 1_500
    page = watched.opens("/public/")
    counted = page.evaluate(COUNTED, kept)
    wrong = {text: number for text, number in zip(kept, counted, strict=True) if number != ours(text)}
    assert wrong.keys() <= {"\u2701\u200d\u2701"}


def ours(text: str) -> int:
    return grapheme_count(unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")))


def test_the_watch_sees_what_it_should(watched: Watched) -> None:
    """A page that is attacked with success is noticed: dialog, request elsewhere, script that throws."""
    watched.reader.page.set_content(
        "<script>alert(1)</script><img src='http://127.0.0.1:9/x.png'><script>nothing.here()</script>"
    )
    watched.reader.until(lambda: len(watched.happened) >= 2 and watched.reader.complaints)
    assert [one.split(" ")[0] for one in watched.happened[:2]] == ["dialog", "request"]
