"""Autocompletion: accounts by handle and name, hashtags by use, only if the viewer may see them."""

from socialsite.container import Services
from tests.support.world import Person, World
from timelines import keys
from timelines.posts.post import FOLLOWERS, UNLISTED


async def names(services: Services, prefix: str, viewer: Person | None = None) -> list[str]:
    viewer_id = viewer.id if viewer else None
    completions = await services.autocomplete.complete_accounts(prefix, viewer_id=viewer_id, limit=8)
    return [author.handle for author in completions]


async def test_accounts_are_found_by_handle_and_by_each_word_of_their_name(world: World, services: Services) -> None:
    alice, _bob = await world.people("alice", "bob")
    await services.accounts.edit_profile(account_id=alice.id, display_name="Ὀδυσσεύς 山田 太郎", bio="", link="")
    for prefix in ("al", "ALICE", "ὀδυσ", "山田太", "太郎"):
        assert await names(services, prefix) == ["alice"], prefix
    assert await names(services, "lice") == []
    assert await names(services, "") == await names(services, "!") == []
    await services.accounts.edit_profile(account_id=alice.id, display_name="Just Alice", bio="", link="")
    assert await names(services, "山田") == []
    assert await names(services, "just ali") == ["alice"]


async def test_names_are_found_with_and_without_their_accents(world: World, services: Services) -> None:
    jose, _josh = await world.people("jo", "josh")
    await services.accounts.edit_profile(account_id=jose.id, display_name="José Ørsted", bio="", link="")
    for prefix in ("jose", "JOSÉ", "jose\u0301", "orst", "ørst", "Øŕ"):
        assert await names(services, prefix) == ["jo"], prefix
    assert await names(services, "jós") == ["josh", "jo"], "a handle has no accents to leave out"


async def test_the_exact_handle_is_completed_first_then_followed_accounts(world: World, services: Services) -> None:
    anna, annabel, annette, me = await world.people("anna", "annabel", "annette", "me")
    assert await names(services, "ann") == ["anna", "annabel", "annette"]
    await me.follows(annette)
    assert await names(services, "ann", me) == ["annette", "anna", "annabel"]
    assert await names(services, "anna", me) == ["anna", "annabel"]
    now_ms = services.clock.now_ms()
    await services.store.node(keys.blocks(me.id)).execute("ZADD", keys.blocks(me.id), now_ms, annabel.id)
    assert await names(services, "ann", me) == ["annette", "anna"]
    assert await names(services, "ann", anna) == ["anna", "annabel", "annette"]


async def test_an_account_that_hides_is_completed_for_its_followers_only(world: World, services: Services) -> None:
    anna, fan, other = await world.people("anna", "fan", "other")
    await fan.follows(anna)
    await anna.hides()
    assert await names(services, "ann", anna) == await names(services, "anna", fan) == ["anna"]
    assert await names(services, "ann", other) == await names(services, "anna") == []


async def test_suspended_and_deleted_accounts_are_not_completed(world: World, services: Services) -> None:
    alice, alan = await world.people("alice", "alan")
    await services.accounts.suspend(account_id=alice.id)
    await services.accounts.delete(account_id=alan.id)
    assert await names(services, "al") == []
    await services.accounts.reinstate(account_id=alice.id)
    assert await names(services, "al") == ["alice"]
    assert await services.repositories.search_names.find_accounts(["@al"], 9) == [alice.id]


async def test_hashtags_are_completed_in_order_of_their_use(world: World, services: Services) -> None:
    alice = await world.person("alice")
    for text in ("#red", "#Redis", "#redis too", "#日本"):
        last = await alice.publishes(text)
    await world.deliver_all()
    assert await services.autocomplete.complete_hashtags("re", limit=5) == ["redis", "red"]
    assert await services.autocomplete.complete_hashtags("red", limit=5) == ["red", "redis"]
    assert await services.autocomplete.complete_hashtags("日", limit=5) == ["日本"]
    await alice.deletes(last)
    assert await services.autocomplete.complete_hashtags("日", limit=5) == []


async def test_hashtags_are_completed_with_and_without_their_accents(world: World, services: Services) -> None:
    alice = await world.person("alice")
    for text in ("#café", "#cafe", "#cafeteria", "#cafeteria too", "#ã", "#\u0640"):
        await alice.publishes(text)
    await world.deliver_all()
    assert await services.autocomplete.complete_hashtags("caf", limit=5) == ["cafeteria", "cafe", "café"]
    assert await services.autocomplete.complete_hashtags("café", limit=5) == ["café", "cafe", "cafeteria"]
    assert await services.autocomplete.complete_hashtags("cafe", limit=5) == ["cafe", "café", "cafeteria"]
    assert await services.autocomplete.complete_hashtags("a", limit=5) == ["ã"]
    assert await services.autocomplete.complete_hashtags("\u0640", limit=5) == [], "nothing but marks"


async def test_hashtags_that_visitors_cannot_read_are_not_completed(world: World, services: Services) -> None:
    """Posts of private or suspended accounts, unlisted posts and posts for followers do not count."""
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for person in (alice, bob):
        await person.publishes("#seen and #seenoften")
    for _ in range(4):
        await alice.publishes("#secretplan of #seenoften")
    await bob.publishes("#secretaside", audience=UNLISTED)
    await bob.publishes("#secretwish", audience=FOLLOWERS)
    await carol.publishes("#secretspam")
    await world.deliver_all()
    assert await services.autocomplete.complete_hashtags("se", limit=5) == [
        "seenoften",
        "secretplan",
        "seen",
        "secretspam",
    ]
    await alice.locks()
    await services.accounts.suspend(account_id=carol.id)
    assert await services.autocomplete.complete_hashtags("secret", limit=5) == []
    assert await services.autocomplete.complete_hashtags("se", limit=5) == ["seenoften", "seen"]
