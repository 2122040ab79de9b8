"""Atom feeds, and the metadata of pages for other sites."""

import re
import time
from xml.etree import ElementTree as ET

import pytest
from django.utils.http import http_date

ATOM = "{http://www.w3.org/2005/Atom}"


def parsed(answer) -> ET.Element:
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    return ET.fromstring(answer.content)


def texts(root: ET.Element, path: str) -> list[str | None]:
    return [element.text for element in root.findall("/".join(f"{ATOM}{part}" for part in path.split("/")))]


def links(root: ET.Element) -> dict[str, str]:
    return {link.attrib["rel"]: link.attrib["href"] for link in root.findall(f"{ATOM}link")}


async def test_an_accounts_feed_contains_its_posts_newest_first(alice, visitor):
    posts = [await alice.publish(text) for text in ("first", 'second #Redis & <b>@bob</b> "q"\nline')][::-1]
    root = parsed(await visitor.get("/@alice/feed.atom"))
    assert links(root) == {"alternate": "http://testserver/@alice/", "self": "http://testserver/@alice/feed.atom"}
    assert texts(root, "title") == ["alice (@alice)"]
    assert re.fullmatch(r"tag:testserver,\d{4}-\d\d-\d\d:accounts/\d+", texts(root, "id")[0] or "")
    assert texts(root, "author/uri") == ["http://testserver/@alice/"]
    newest = root.find(f"{ATOM}entry")
    assert newest is not None
    assert texts(root, "entry/title") == ['second #Redis & <b>@bob</b> "q"', "first"]
    day = posts[0]["created_at"][:10]
    assert texts(newest, "id") == [f"tag:testserver,{day}:posts/{posts[0]['id']}"]
    assert links(newest) == {"alternate": f"http://testserver{posts[0]['url']}"}
    (content,) = newest.findall(f"{ATOM}content")
    assert content.attrib == {"type": "html"}
    assert content.text == posts[0]["html"].replace('href="/', 'href="http://testserver/')
    assert 'href="http://testserver/tags/redis/"' in content.text
    assert "&lt;b&gt;" in content.text
    assert newest.findall(f"{ATOM}summary") == []
    assert [category.attrib["term"] for category in newest.findall(f"{ATOM}category")] == ["redis"]
    stamp = f"{posts[0]['created_at'][:19]}+00:00"
    assert [texts(newest, part) for part in ("published", "updated")] == [[stamp], [stamp]]
    assert texts(root, "updated") == [stamp]


async def test_a_tags_feed_names_the_authors(alice, bob, visitor):
    for browser in (alice, bob):
        await browser.publish("about #日本")
    address = "http://testserver/tags/%E6%97%A5%E6%9C%AC/"
    root = parsed(await visitor.get("/tags/日本/feed.atom"))
    assert links(root) == {"alternate": address, "self": f"{address}feed.atom"}
    assert texts(root, "id") == ["tag:testserver,2026-01-01:tags/%E6%97%A5%E6%9C%AC"]
    assert texts(root, "entry/author/uri") == ["http://testserver/@bob/", "http://testserver/@alice/"]


async def test_an_entry_has_the_language_of_its_post(alice, bob, visitor):
    """Without it, readers take the language of the response (RFC 4287, 2)."""
    quoted = await bob.publish("مرحبا", language="ar")
    await alice.publish("guten Tag", language="de")
    await alice.publish("ok", quoted_status_id=quoted["id"])
    for path, languages in (("/@alice/feed.atom", ["und", "de"]), ("/@bob/feed.atom", ["ar"])):
        root = parsed(await visitor.get(path))
        name = "{http://www.w3.org/XML/1998/namespace}lang"
        assert [entry.attrib.get(name) for entry in root.findall(f"{ATOM}entry")] == languages
    assert '<blockquote lang="ar">' in (texts(parsed(await visitor.get("/@alice/feed.atom")), "entry/content")[0] or "")


@pytest.mark.parametrize("path", ["/@alice/feed.atom", "/tags/silence/feed.atom"])
async def test_an_empty_feed_is_valid_and_stays_the_same(alice, visitor, path):
    first, second = await visitor.get(path), await visitor.get(path)
    root = parsed(first)
    assert texts(root, "entry") == []
    assert len(texts(root, "updated")) == 1
    assert first.content == second.content


async def test_a_feed_contains_the_newest_thirty_posts(alice, visitor):
    posts = [(await alice.publish(f"post {n} #n"))["id"] for n in range(33)][::-1]
    for path in ("/@alice/feed.atom", "/tags/n/feed.atom"):
        ids = texts(parsed(await visitor.get(path)), "entry/id")
        assert [(id or "").partition("posts/")[2] for id in ids] == posts[:30]


async def test_an_unchanged_feed_is_304(alice, visitor):
    await alice.publish("one")
    etag = (await visitor.get("/@alice/feed.atom")).headers["etag"]
    for headers in ({"If-None-Match": etag}, {"If-None-Match": f'"x", W/{etag}'}):
        again = await visitor.get("/@alice/feed.atom", **headers)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    post = await alice.publish("two")
    changed = await visitor.get("/@alice/feed.atom", **{"If-None-Match": etag})
    assert len(texts(parsed(changed), "entry")) == 2
    await alice.post_json(f"/posts/{post['id']}/delete/")
    gone = await visitor.get("/@alice/feed.atom", **{"If-None-Match": changed.headers["etag"]})
    assert texts(parsed(gone), "entry/title") == ["one"]


async def test_a_feed_has_no_last_modified_since_a_deletion_does_not_change_it(alice, visitor):
    """A reader that compares only times would keep the deleted post and miss a second post of one second."""
    old = await alice.publish("old")
    await alice.publish("newest")
    assert "last-modified" not in (await visitor.get("/@alice/feed.atom")).headers
    await alice.post_json(f"/posts/{old['id']}/delete/")
    since = {"If-Modified-Since": http_date(time.time() + 60)}
    assert texts(parsed(await visitor.get("/@alice/feed.atom", **since)), "entry/title") == ["newest"]


async def test_caches_revalidate_a_feed_that_is_equal_for_everybody(alice, visitor):
    await alice.publish("one")
    anonymous, own = await visitor.get("/@alice/feed.atom"), await alice.get("/@alice/feed.atom")
    assert anonymous.headers["cache-control"] == "no-cache"
    assert own.content == anonymous.content


@pytest.mark.parametrize("leaving", ["suspend", "delete", "never was"])
async def test_a_suspended_deleted_or_unknown_account_has_no_feed(alice, site, visitor, leaving):
    account = await site.accounts.get_by_handle("alice")
    handle = "nobody" if leaving == "never was" else "alice"
    if leaving == "suspend":
        await site.accounts.suspend(account_id=account.id)
    elif leaving == "delete":
        await site.accounts.delete(account_id=account.id)
    assert (await visitor.get(f"/@{handle}/feed.atom")).status_code == 404


async def test_another_letter_case_redirects_to_the_one_address(alice, visitor):
    answer = await visitor.get("/@Alice/feed.atom")
    assert (answer.status_code, answer.headers["location"]) == (301, "/@alice/feed.atom")


async def test_long_lines_and_names_are_cut_between_graphemes(alice, visitor):
    family = "👩‍👩‍👧‍👦"
    await alice.publish(family * 90)
    assert texts(parsed(await visitor.get("/@alice/feed.atom")), "entry/title") == [family * 80 + "…"]


async def test_profiles_and_posts_have_metadata(alice, visitor):
    post = await alice.publish('said "<this>"')
    profile = (await visitor.get("/@alice/?utm_source=x")).text
    assert '<meta property="og:type" content="profile">' in profile
    assert '<meta property="og:title" content="alice (@alice)">' in profile
    assert '<meta property="og:description" content="Posts by @alice, newest first">' in profile
    assert '<link rel="canonical" href="http://testserver/@alice/">' in profile
    assert '<meta property="og:url" content="http://testserver/@alice/">' in profile
    assert 'type="application/atom+xml"' in profile
    older = (await visitor.get(f"/@alice/?before={int(post['id']) + 1}")).text
    assert f'<link rel="canonical" href="http://testserver/@alice/?before={int(post["id"]) + 1}">' in older
    page = (await visitor.get(post["url"])).text
    assert '<meta property="og:type" content="article">' in page
    assert '<meta property="og:description" content="said &quot;&lt;this&gt;&quot;">' in page
    assert f'<link rel="canonical" href="http://testserver{post["url"]}">' in page
