"""Statuses contain current accounts, and a warm process reads nothing more for them."""

import msgspec

from accounts import keys
from socialsite.container import Services
from tests.support.api import ApiSite
from tests.support.world import Person, World
from timelines.api.presenters import accounts_json, status_json, statuses_json
from timelines.pages.presenters import Json


def decode(raw: msgspec.Raw) -> Json:
    decoded: Json = msgspec.json.decode(raw)
    return decoded


async def test_a_status_contains_its_author_its_original_and_its_mentions(services: Services, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello @bob and @nobody")
    await services.reactions.boost(account_id=bob.id, post_id=post.id, now_ms=services.clock.now_ms())
    (entry, *_rest) = (await services.reading.profile(bob.id, viewer_id=alice.id)).entries
    status = decode(await status_json(ApiSite(services), entry))
    assert status["account"]["acct"] == "bob"
    assert status["reblog"]["account"]["acct"] == "alice"
    assert [each["acct"] for each in status["reblog"]["mentions"]] == ["bob"]
    assert status["reblog"]["reblog"] is None
    assert status["reblog"]["account"]["statuses_count"] == 1


async def test_a_change_of_the_profile_shows_at_once(services: Services, alice: Person) -> None:
    post = await alice.publishes("hello")

    async def shown_note() -> str:
        entry = await services.reading.post(post.id, viewer_id=None)
        note: str = decode(await status_json(ApiSite(services), entry))["account"]["note"]
        return note

    assert await shown_note() == ""
    await services.accounts.edit_profile(account_id=alice.id, bio="new")
    assert await shown_note() == "<p>new</p>"


async def test_suspended_accounts_are_neither_listed_nor_mentioned(services: Services, world: World) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello @bob")
    await services.accounts.suspend(account_id=bob.id)
    status = decode(await status_json(ApiSite(services), await services.reading.post(post.id, viewer_id=None)))
    assert (status["mentions"], status["content"]) == ([], "<p>hello @bob</p>")
    accounts = [decode(each) for each in await accounts_json(ApiSite(services), [bob.id, alice.id])]
    assert [each["acct"] for each in accounts] == ["alice"]


async def test_a_second_page_of_the_same_authors_needs_no_read(services: Services, alice: Person, bob: Person) -> None:
    await alice.publishes("hello @bob")
    entries = (await services.reading.profile(alice.id, viewer_id=None)).entries
    first = await statuses_json(ApiSite(services), entries)
    for person in (alice, bob):  # a read would find no account
        key = keys.account(person.id)
        await services.store.component("accounts")[key].execute("DEL", key)
    assert await statuses_json(ApiSite(services), entries) == first
