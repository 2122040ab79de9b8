"""Mutes with and without an end: their expiry and their order on pages."""

from socialsite.container import Services
from tests.support.graph import read_relation, service_with_cap_of_one
from tests.support.world import Person, World
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.visibility.rights import NO_EXPIRY_MS

HOUR_MS = 3_600_000


async def test_expired_mutes_do_not_count_towards_the_cap(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    capped, now_ms = service_with_cap_of_one(services), services.clock.now_ms()
    await capped.mute(account_id=alice.id, other_id=bob.id, now_ms=now_ms, until_ms=now_ms + 1)
    assert await capped.mute(account_id=alice.id, other_id=carol.id, now_ms=now_ms + 2)


async def test_a_mute_expires_at_its_end(alice: Person, bob: Person, services: Services) -> None:
    now_ms = services.clock.now_ms()
    await alice.mutes(bob, now_ms + HOUR_MS)
    before = await services.blocks_and_mutes.relationship(alice.id, bob.id, now_ms + HOUR_MS - 1)
    after = await services.blocks_and_mutes.relationship(alice.id, bob.id, now_ms + HOUR_MS)
    assert (before.muted_until_ms, after.mutes) == (now_ms + HOUR_MS, False)
    assert (await services.blocks_and_mutes.muted(alice.id, now_ms=now_ms)).account_ids == (bob.id,)
    assert (await services.blocks_and_mutes.muted(alice.id, now_ms=now_ms + HOUR_MS)).account_ids == ()


async def test_a_permanent_mute_replaces_a_temporary_mute(alice: Person, bob: Person, services: Services) -> None:
    assert await alice.mutes(bob, services.clock.now_ms() + HOUR_MS)
    assert await alice.mutes(bob)
    assert not await alice.mutes(bob)
    assert await services.blocks_and_mutes.muted_until(alice.id, [bob.id]) == {bob.id: NO_EXPIRY_MS}
    assert (await read_relation(services, alice, bob)).muted_until_ms == NO_EXPIRY_MS
    assert await alice.unmutes(bob)
    assert not await alice.unmutes(bob)


async def test_permanent_mutes_are_listed_first_and_in_pages(
    world: World, alice: Person, services: Services, relations: BlocksAndMutes
) -> None:
    others = [(await world.person(f"p{number}")).id for number in range(5)]
    now_ms = services.clock.now_ms()
    for number, other in enumerate(others):
        until_ms = NO_EXPIRY_MS if number < 3 else now_ms + HOUR_MS * number
        await relations.mute(alice.id, other, until_ms, now_ms)
    first = await services.blocks_and_mutes.muted(alice.id, limit=2, now_ms=now_ms)
    second = await services.blocks_and_mutes.muted(alice.id, first.next, 2, now_ms=now_ms)
    third = await services.blocks_and_mutes.muted(alice.id, second.next, 2, now_ms=now_ms)
    assert set(first.account_ids) | {second.account_ids[0]} == set(others[:3])
    assert (second.account_ids[1], *third.account_ids) == (others[4], others[3])
    assert third.next is None
