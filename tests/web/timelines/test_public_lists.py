"""Public lists: everybody reads them and follows their members; nobody is on a list against their will."""

import re

import pytest


@pytest.fixture
async def carol(bob, open_browser):
    return await open_browser("carol")


@pytest.fixture
async def dave(carol, open_browser):
    return await open_browser("dave")


@pytest.fixture
async def starters(alice, bob, carol) -> str:
    """Create a public list of Alice's with Bob and Carol on it; return its path."""
    path = f"/lists/{(await alice.post_json('/lists/', title='Gardeners')).json()['id']}/"
    for handle in ("bob", "carol"):
        await alice.post_json(f"{path}members/", handle=handle)
    made = await alice.post_json(f"{path}edit/", public="1", description="They grow things. #garden")
    assert made.status_code == 200, made.text
    return path


async def follow_all(browser, path: str) -> list[str]:
    """Follow all, and return the ids of the accounts that the undo on the next page names."""
    answer = await browser.post(f"{path}follow/")
    assert answer.status_code == 303, answer.text
    page = (await browser.get(answer.headers["location"])).text
    undo = re.search(rf'formaction="{path}unfollow/" name="accounts" value="([^"]*)"', page)
    return undo[1].split() if undo else []


async def explored(browser, query: str = "") -> list[str]:
    """Return the paths of the lists that Explore offers."""
    return re.findall(r'<a class="row" href="(/lists/\d+/)">', (await browser.get(f"/search/{query}")).text)


async def shown(browser, path: str) -> list[str] | int:
    """Return the handles of the people whom the list shows, or the status of a refusal."""
    answer = await browser.get_json(path)
    if answer.status_code != 200:
        return answer.status_code
    return [each["handle"] for each in answer.json()["members"]["accounts"]]


async def test_everybody_reads_a_public_list_with_its_people_and_their_posts(starters, bob, dave, visitor, world):
    post = await bob.publish("tomatoes are red")
    await world.deliver_all()
    for browser in (dave, visitor):
        found = (await browser.get_json(starters)).json()
        assert [each["handle"] for each in found["members"]["accounts"]] == ["carol", "bob"]
        assert [each["id"] for each in found["posts"]] == [post["id"]]
        assert (found["list"]["owner"]["handle"], found["list"]["members"]) == ("alice", 2)
        page = (await browser.get(starters)).text
        for text in ("Gardeners", 'href="/tags/garden/"', "tomatoes are red", "Follow all", 'href="/@alice/"'):
            assert text in page
        assert "data-live>" not in page
        assert "tomatoes" not in (await browser.get(f"{starters}?tab=people")).text
    assert "Follow all" not in (await visitor.get("/lists/")).text


async def test_a_private_list_stays_hidden_and_a_public_one_becomes_private_at_once(starters, alice, dave, visitor):
    other = f"/lists/{(await alice.post_json('/lists/', title='Secret')).json()['id']}/"
    assert [await shown(browser, other) for browser in (dave, visitor)] == [404, 401]
    await alice.post_json(f"{starters}edit/", public="0")
    assert [await shown(browser, starters) for browser in (dave, visitor)] == [404, 401]
    assert await explored(visitor) == []
    for action in ("follow", "leave"):
        assert (await dave.post(f"{other}{action}/")).status_code == 404


async def test_follow_all_follows_each_person_once_and_its_undo_only_the_new_ones(starters, dave, bob, carol):
    await dave.post_json("/@bob/follow/")
    await carol.post_json("/accounts/settings/", private="1")
    assert await follow_all(dave, starters) == ["3"]
    assert (await dave.get_json("/@carol/")).json()["viewer"]["requested"] is True
    assert await follow_all(dave, starters) == []
    assert "You follow everybody on this list." in (await dave.get(starters)).text
    await dave.post(f"{starters}unfollow/", accounts="3")
    assert (await dave.get_json("/@carol/")).json()["viewer"]["requested"] is False
    assert (await dave.get_json("/@bob/")).json()["viewer"]["follows"] is True


async def test_the_page_after_follow_all_offers_its_undo(starters, dave):
    answer = await dave.post(f"{starters}follow/")
    page = (await dave.get(answer.headers["location"])).text
    assert "You follow 2 more people." in page
    assert f'formaction="{starters}unfollow/" name="accounts" value="3 2"' in page


async def test_a_member_of_the_list_does_not_follow_itself(starters, bob):
    assert await follow_all(bob, starters) == ["3"]
    page = (await bob.get(starters)).text
    assert 'formaction="/@bob/follow/"' not in page
    assert "You follow everybody on this list." in page


async def test_a_member_leaves_the_list_for_good(starters, alice, bob, dave):
    assert "Public lists with you" in (await bob.get("/lists/")).text
    for _ in range(2):
        assert (await bob.post(f"{starters}leave/")).status_code == 303
    assert await shown(dave, starters) == ["carol"]
    assert "Public lists with you" not in (await bob.get("/lists/")).text
    again = await alice.post_json(f"{starters}members/", handle="bob")
    assert (again.status_code, again.json()["error"]) == (409, "member_left")
    assert "cannot be added again" in (await alice.post(f"{starters}members/", handle="bob")).text


@pytest.mark.parametrize("act", ["member blocks owner", "owner blocks member", "not suggested", "limited", "suspended"])
async def test_a_list_shows_nobody_against_their_will(act, starters, alice, bob, dave, visitor, world):
    post = await bob.publish("tomatoes are red")
    await world.deliver_all()
    match act:
        case "member blocks owner":
            await bob.post_json("/@alice/block/")
        case "owner blocks member":
            await alice.post_json("/@bob/block/")
        case "not suggested":
            await bob.post_json("/accounts/settings/", discoverable="0")
        case "limited":
            await world.services.accounts.restrict(2, "limit", 1)
        case "suspended":
            await world.services.accounts.suspend(account_id=2)
    for browser in (dave, visitor):
        found = (await browser.get_json(starters)).json()
        assert [each["handle"] for each in found["members"]["accounts"]] == ["carol"]
        assert post["id"] not in [each["id"] for each in found["posts"]]
    assert await follow_all(dave, starters) == ["3"]


async def test_a_viewer_neither_sees_nor_follows_people_that_a_block_hides(starters, bob, dave):
    await bob.post_json("/@dave/block/")
    assert await shown(dave, starters) == ["carol"]
    assert await follow_all(dave, starters) == ["3"]


@pytest.mark.parametrize("act", ["block", "blocked", "limited", "suspended"])
async def test_a_list_of_a_hidden_owner_is_hidden(act, starters, alice, dave, world):
    match act:
        case "block":
            await alice.post_json("/@dave/block/")
        case "blocked":
            await dave.post_json("/@alice/block/")
        case "limited":
            await world.services.accounts.restrict(1, "limit", 1)
        case "suspended":
            await world.services.accounts.suspend(account_id=1)
    assert await shown(dave, starters) == 404
    assert await explored(dave) == []


async def test_explore_offers_one_list_of_each_owner(starters, alice, bob, visitor):
    other = f"/lists/{(await alice.post_json('/lists/', title='More')).json()['id']}/"
    await alice.post_json(f"{other}members/", handle="bob")
    await alice.post_json(f"{other}edit/", public="1")
    for query in ("", "?tab=lists"):
        assert len(await explored(visitor, query)) == 1
    assert "by @alice" in (await bob.get("/search/")).text
    await alice.post_json("/accounts/settings/", discoverable="0")
    assert await explored(visitor) == []
    assert "No lists to follow yet" in (await visitor.get("/search/?tab=lists")).text


async def test_staff_hides_a_public_list_and_shows_it_again(starters, alice, dave, world):
    await world.services.site.change(held_lists=(starters.split("/")[2],))
    assert await shown(dave, starters) == 404
    assert await explored(dave) == []
    assert "took this list away from public view" in (await alice.get(starters)).text
    await world.services.site.change(held_lists=())
    assert await shown(dave, starters) == ["carol", "bob"]


async def test_the_texts_of_a_public_list_follow_the_rules_of_the_site(starters, alice, world):
    await world.services.site.change(blocked_words=("weeds",))
    refused = await alice.post_json(f"{starters}edit/", description="only weeds")
    assert (refused.status_code, [*refused.json()["fields"]]) == (422, ["description"])
    assert "does not allow" in (await alice.post(f"{starters}edit/", title="weeds")).text
    assert (await alice.post_json(f"{starters}edit/", description="x" * 301)).status_code == 422


async def test_the_first_link_of_a_newcomer_is_not_shown_by_a_public_list(starters, alice, dave, world):
    link = {"description": "see https://example.com/offer"}
    await world.services.site.change(holds_first_links=True)
    for fields in (link, {"title": "example.com offers https://example.com/"}):
        refused = await alice.post_json(f"{starters}edit/", **fields)
        assert (refused.status_code, [*refused.json()["fields"]]) == (422, ["description"])
    assert "look at your first links" in (await alice.post(f"{starters}edit/", **link)).text
    assert "example.com" not in (await dave.get(starters)).text
    secret = f"/lists/{(await alice.post_json('/lists/', title='Secret')).json()['id']}/"
    assert (await alice.post_json(f"{secret}edit/", **link)).status_code == 200
    assert (await alice.post_json(f"{secret}edit/", public="1")).status_code == 422
    for number in range(10):
        await alice.publish(f"post {number}")
    assert (await alice.post_json(f"{starters}edit/", **link)).status_code == 200


async def test_a_combined_or_very_large_list_cannot_be_public(starters, alice, monkeypatch, world):
    await alice.post_json("/lists/", title="Other")
    made = (await alice.post_json("/lists/", title="Both", operation="union", parts="1 2")).json()
    assert (await alice.post_json(f"/lists/{made['id']}/edit/", public="1")).status_code == 422


async def test_a_deleted_list_leaves_nothing_in_explore(starters, alice, visitor, world):
    await alice.post_json(f"{starters}delete/")
    assert await explored(visitor) == []
    assert await world.services.repositories.lists.newest_public(10) == []


async def test_a_silenced_owner_changes_no_public_list(starters, alice, dave, world):
    secret = f"/lists/{(await alice.post_json('/lists/', title='Secret')).json()['id']}/"
    until_ms = world.services.clock.now_ms() + 3_600_000
    await world.services.accounts.restrict(1, "silence", until_ms)
    for path, fields in (
        (f"{starters}edit/", {"description": "insults"}),
        (f"{starters}members/", {"handle": "dave"}),
        (f"{secret}edit/", {"public": "1"}),
    ):
        answer = await alice.post_json(path, **fields)
        assert (answer.status_code, "silenced" in answer.text) == (403, True), path
    assert (await alice.post_json(f"{secret}edit/", title="Own")).status_code == 200
    assert (await alice.post_json(f"{starters}edit/", public="0")).status_code == 200
    assert await shown(dave, starters) == 404


async def test_an_account_has_at_most_five_public_lists(starters, alice):
    made = [(await alice.post_json("/lists/", title=f"list {number}")).json()["id"] for number in range(5)]
    answers = [await alice.post_json(f"/lists/{list_id}/edit/", public="1") for list_id in made]
    assert [each.status_code for each in answers] == [200] * 4 + [422]
    assert "at most 5" in answers[-1].json()["fields"]["public"]


async def test_a_member_sees_the_public_lists_that_it_can_open(starters, bob, world):
    assert "Gardeners" in (await bob.get("/lists/")).text
    await world.services.accounts.suspend(account_id=1)
    assert "Gardeners" not in (await bob.get("/lists/")).text


async def test_a_reader_pages_through_the_posts_of_a_list_that_the_rights_of_the_reader_allow(
    starters, bob, carol, dave, visitor, world
):
    posts = [(await person.publish(f"post {number}"))["id"] for number in range(2) for person in (bob, carol)]
    secret = (await bob.publish("for followers", audience="followers"))["id"]
    answer = (await bob.publish("@dave an answer", in_reply_to=posts[0]))["id"]
    await world.deliver_all()

    async def read(browser) -> list[str]:
        ids, path = [], f"{starters}?limit=2"
        while path:
            page = (await browser.get_json(path)).json()
            ids += [each["id"] for each in page["posts"]]
            path = page["next"]
        return ids

    assert await read(dave) == await read(visitor) == [answer, *reversed(posts)]
    assert 'rel="next"' in (await visitor.get(f"{starters}?limit=2")).text
    await dave.post_json("/@bob/follow/")
    assert await read(dave) == [answer, secret, *reversed(posts)]
    await dave.post_json("/@bob/mute/")
    assert await read(dave) == [posts[3], posts[1]]
    await carol.post_json("/@dave/block/")
    assert await read(dave) == []
    assert await read(visitor) == [answer, *reversed(posts)]


async def test_a_public_list_is_read_as_a_tab_of_home(starters, alice, bob, dave, visitor, world):
    list_id = starters.split("/")[2]
    assert "to the tabs" not in (await visitor.get(starters)).text
    assert "Add Gardeners to the tabs" in (await dave.get(starters)).text
    own = (await dave.post_json("/lists/", title="Own")).json()["id"]
    answer = await dave.post("/lists/tabs/", tab=list_id, action="add")
    assert answer.headers["location"] == "/lists/tabs/#tab-2"

    async def tabs() -> list[str]:
        world.services.lists.menus.drop(4)  # the cache of the process
        found = re.search(r'<nav class="tabs timeline-tabs".*?</nav>', (await dave.get("/")).text, re.DOTALL)
        return re.findall(r'href="/lists/(\d+)/"', found[0])

    assert await tabs() == [own, list_id]
    assert f'<a href="{starters}" aria-current="page">' in (await dave.get(starters)).text
    assert "Move Gardeners up" in (await dave.get("/lists/tabs/")).text
    await world.services.site.change(held_lists=(list_id,))
    assert await tabs() == [own]
    await world.services.site.change(held_lists=())
    await alice.post_json("/@dave/block/")
    assert await tabs() == [own]
    assert "Gardeners" not in (await dave.get("/lists/tabs/")).text
    await alice.post_json("/@dave/unblock/")
    await dave.post("/lists/tabs/", tab=list_id, action="remove")
    assert await tabs() == [own]
    await alice.post_json(f"{starters}edit/", public="0")
    assert (await dave.post("/lists/tabs/", tab=list_id, action="add")).status_code == 400
