"""Sockets send the same entries of lists with rules as the pages of these lists show."""

from tests.support.sockets import open_socket, sign_in_cookie


async def test_a_virtual_list_receives_the_entries_of_its_parts_live(daphne, world, services) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    one, two = await alice.makes_list(bob, carol), await alice.makes_list(carol, dave)
    common = await services.lists.create(
        owner_id=alice.id, title="common", now_ms=1, operation="intersection", parts=(one.id, two.id)
    )
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(f"list:{common.id}")
        await bob.publishes("on one of them")
        post = await carol.publishes("on both")
        await dave.publishes("on the other")
        await world.deliver_all()
        await reader.receive_entry(post.id, f"list:{common.id}")
        await reader.collect_for()
        assert set(reader.entry_ids(f"list:{common.id}")) == {post.id}


async def test_the_replies_policy_applies_to_sockets(daphne, world, services) -> None:
    alice, bob, carol, erin = await world.people("alice", "bob", "carol", "erin")
    friends = await alice.makes_list(bob, carol)
    await services.lists.edit(owner_id=alice.id, list_id=friends.id, replies="members")
    strange_post, known_post = await erin.publishes("strange"), await carol.publishes("known")
    await world.deliver_all()
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(f"list:{friends.id}")
        await bob.publishes("to a stranger", in_reply_to=strange_post)
        await world.deliver_all()
        post = await bob.publishes("to a friend", in_reply_to=known_post)
        await world.deliver_all()
        await reader.receive_entry(post.id, f"list:{friends.id}")
        await reader.collect_for()
        assert set(reader.entry_ids(f"list:{friends.id}")) <= {known_post.id, post.id}


async def test_a_changed_replies_policy_applies_to_open_sockets(daphne, world, services) -> None:
    alice, bob, erin = await world.people("alice", "bob", "erin")
    friends = await alice.makes_list(bob)
    name, strange = f"list:{friends.id}", await erin.publishes("strange")
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(name)
        for replies in ("none", "all"):
            await services.lists.edit(owner_id=alice.id, list_id=friends.id, replies=replies)
            await reader.receive_until(lambda m: m["type"] == "subscribed" and m["timeline"] == name)
            answer = await bob.publishes(f"while it says {replies}", in_reply_to=strange)
            await world.deliver_all()
            post = await bob.publishes("to nobody")
            await world.deliver_all()
            await reader.receive_entry(post.id, name)
            assert (answer.id in reader.entry_ids(name)) is (replies == "all")


async def test_changed_parts_of_a_virtual_list_apply_to_open_sockets(daphne, world, services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    one, two, nobody = [await alice.makes_list(*others) for others in ((bob,), (carol,), ())]
    both = await services.lists.create(
        owner_id=alice.id, title="both", now_ms=1, operation="union", parts=(one.id, two.id)
    )
    outer = await services.lists.create(
        owner_id=alice.id, title="outer", now_ms=1, operation="union", parts=(both.id, nobody.id)
    )
    name = f"list:{outer.id}"
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe(name)
        await services.lists.edit(owner_id=alice.id, list_id=both.id, operation="difference", parts=(one.id, two.id))
        await reader.receive_until(lambda m: m["type"] == "subscribed" and m["timeline"] == name)
        await carol.publishes("no longer")
        post = await bob.publishes("still")
        await world.deliver_all()
        await reader.receive_entry(post.id, name)
        assert reader.entry_ids(name) == [post.id]


async def test_members_of_an_exclusive_list_do_not_arrive_at_home(daphne, world, services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for other in (bob, carol):
        await alice.follows(other)
    apart = await alice.makes_list(bob)
    await services.lists.edit(owner_id=alice.id, list_id=apart.id, exclusive=True)
    async with open_socket(daphne, await sign_in_cookie(alice)) as reader:
        await reader.subscribe("home")
        await bob.publishes("read elsewhere")
        post = await carol.publishes("read at home")
        await world.deliver_all()
        await reader.receive_entry(post.id, "home")
        await reader.collect_for()
        assert reader.entry_ids("home") == [post.id]
