"""The public timeline leaves out replies to other accounts unless the reader wants them."""

import re

from tests.support.browser import HttpBrowser


def entries(page: str) -> list[str]:
    """Return the ids of the posts of a page, the newest first. A joined thread has them in reading order."""
    return sorted(re.findall(r'<article [^>]*data-post-id="(\d+)"', page), key=int, reverse=True)


async def conversation(alice: HttpBrowser, bob: HttpBrowser, count: int = 6) -> tuple[list[str], list[str]]:
    """Publish posts, each with a reply of its author and two of another account.

    Returns all ids and the ids without replies to others, the newest first.
    """
    every, shown = list[str](), list[str]()
    for number in range(count):
        post = await alice.publish(f"post {number}")
        own = await alice.publish("to myself", in_reply_to=post["id"])
        replies = [await bob.publish("to you", in_reply_to=post["id"]) for _ in range(2)]
        shown += [post["id"], own["id"]]
        every += [post["id"], own["id"], *(reply["id"] for reply in replies)]
    return every[::-1], shown[::-1]


async def test_pages_without_replies_are_full_and_lead_through_all_other_posts(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser
) -> None:
    every, shown = await conversation(alice, bob)
    for reader in (visitor, alice):
        pages, path = list[list[str]](), "/public/?limit=5"
        while path:
            page = (await reader.get(path)).text
            pages.append(entries(page))
            found = re.search(r'rel="next" href="([^"]+)"', page)
            path = found[1].replace("&amp;", "&") if found else ""
        assert [id for page in pages for id in page] == shown
        assert [len(page) for page in pages] == [5, 5, 2]
        assert entries((await reader.get(f"/public/?limit=5&after={pages[1][0]}")).text) == pages[0]
    assert await visitor.post_ids("/public/") == every, "programs get all posts"
    assert await visitor.post_ids("/public/?replies=0") == shown
    assert entries((await visitor.get("/")).text) == shown[:10], "the welcome page has no replies either"


async def test_an_account_chooses_replies_once(alice: HttpBrowser, bob: HttpBrowser) -> None:
    every, shown = await conversation(alice, bob, 2)
    page = (await alice.get("/public/")).text
    assert 'data-live="public:posts"' in page
    assert 'role="switch" aria-checked="false"' in page
    answer = await alice.post("/accounts/preferences/", show_replies="1", next="/public/")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/public/")
    page = (await alice.get("/public/")).text
    assert entries(page) == every
    assert 'data-live="public:posts"' not in page
    assert 'role="switch" aria-checked="true"' in page
    await alice.post("/accounts/preferences/", show_replies="0", next="/public/")
    assert entries((await alice.get("/public/?replies=1")).text) == shown
    assert (await alice.post_json("/accounts/preferences/", show_replies="yes")).status_code == 422


async def test_the_choice_of_a_visitor_stays_in_the_links(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser
) -> None:
    every, _shown = await conversation(alice, bob, 2)
    page = (await visitor.get("/public/?replies=1&limit=3")).text
    assert entries(page) == every[:3]
    assert 'name="replies" value="0"' in page
    assert f'rel="next" href="/public/?before={every[2]}&amp;limit=3&amp;replies=1"' in page
