"""Hashtag timelines on the socket are live on every process and are replayed."""

from tests.support.sockets import open_socket


async def test_a_tagged_post_arrives_at_every_subscriber_on_every_process(daphnes, world) -> None:
    alice = await world.person("alice")
    async with open_socket(daphnes[0]) as one, open_socket(daphnes[1]) as two:
        await one.subscribe("tag:日本")
        await two.subscribe("tag:Redis")
        await two.subscribe("tag:日本")
        both = await alice.publishes("#redis in #日本")
        await one.receive_entry(both.id, "tag:日本")
        await two.receive_until(lambda m: len([each for each in two.got if each["type"] == "entry"]) == 2)
        assert two.entry_ids("tag:日本") == two.entry_ids("tag:Redis") == [both.id]
        other_post = await alice.publishes("#other")
        last = await alice.publishes("only #REDIS")
        await two.receive_entry(last.id, "tag:Redis")
        assert all(m["id"] == str(both.id) for m in await one.collect_for(0.3))  # a replay may repeat known entries
        assert str(other_post.id) not in str(two.got)


async def test_missed_posts_of_a_tag_are_replayed(daphne, world) -> None:
    alice = await world.person("alice")
    first, second = [await alice.publishes(f"{n} #redis") for n in range(2)]
    async with open_socket(daphne) as reader:
        await reader.send({"type": "subscribe", "timeline": "tag:redis", "after": str(first.id)})
        await reader.receive_entry(second.id, "tag:redis")


async def test_a_suspended_authors_post_is_not_pushed_to_its_tags(daphne, world, services) -> None:
    bob = await world.person("bob")
    async with open_socket(daphne) as reader:
        await reader.subscribe("tag:redis")
        await services.accounts.suspend(account_id=bob.id)
        await bob.publishes("#redis")
        assert await reader.collect_for() == []
