"""Private events never reach the sockets of other people, whatever timelines they subscribe to.

Mallory, Dave (blocked) and a visitor without a session subscribe to every name that could exist, Alice's private
timelines among them. Meanwhile Alice creates one private thing of every kind. Eve follows her and may receive
some of it.
"""

import contextlib
import itertools
import json
from collections.abc import AsyncIterator

from tests.support.daphnes import DaphneProcess
from tests.support.reactions import PersonReactions
from tests.support.sockets import SocketClient, open_socket, sign_in_cookie
from tests.support.world import Person, World
from timelines.posts.post import FOLLOWERS

SECRETS = ("canary-followers", "canary-answer", "canary-draft", "canary-list-member")
PLAIN = "for everybody"
REFUSALS = {"bad_message", "forbidden", "signed_out"}


def names(alice: Person, list_id: int) -> list[str]:
    """Timeline names that a client might try: other people's names, keys, channels, patterns, other spellings."""
    ids = (alice.id, list_id, 0, -1)
    kinds = ("home", "list", "notifications", "tags", "profile", "bookmarks", "live")
    made = [f"{kind}:{id}" for kind, id in itertools.product(kinds, ids)]
    return [
        *made, "live:{l0}:events", "live:*", "*", "profile:*", "profile:Alice", "tag:*", "home:alice",
        f"list:0{list_id}", f"list: {list_id}", f"list:{list_id}\x00", f"LIST:{list_id}", "control",
        "public:1", f"list:{'0' * 15}{list_id}{'9' * 40}", f"list:{'9' * 4000}",
    ]  # fmt: skip


@contextlib.asynccontextmanager
async def curious(daphne: DaphneProcess, cookie: str | None, wanted: list[str]) -> AsyncIterator[SocketClient]:
    """A socket subscribed to all `names` and to public timelines; each request was answered."""
    async with open_socket(daphne, cookie) as reader:
        for name in wanted:
            await reader.send({"type": "subscribe", "timeline": name, "after": "0"})
            await reader.receive_until(lambda m: m["type"] in ("subscribed", "error"))
            await reader.send({"type": "unsubscribe", "timeline": name})
        for name in ("public", "profile:alice", "tag:tea"):
            await reader.subscribe(name)
        yield reader


async def private_life(world: World, alice: Person, bob: Person, list_id: int) -> list[str]:
    """Do everything private that Alice can do; return the ids of her posts for followers."""
    acts = PersonReactions(world.services)
    first = await alice.publishes(f"{SECRETS[0]} #tea", audience=FOLLOWERS)
    answer = await alice.publishes(SECRETS[1], in_reply_to=first)
    gone = await alice.publishes(SECRETS[2], audience=FOLLOWERS)
    await acts.likes(bob, first)
    await acts.bookmarks(alice, first)
    await bob.publishes(f"@alice {SECRETS[3]}", in_reply_to=first)
    await alice.mutes(bob)
    await alice.unmutes(bob)
    await world.deliver_all()
    return [str(post.id) for post in (first, answer, gone)]


async def test_no_private_event_reaches_a_subscriber_without_the_right(daphne: DaphneProcess, world: World) -> None:
    alice, bob, mallory, dave = await world.people("alice", "bob", "mallory", "dave")
    await bob.follows(alice)
    await alice.follows(bob)
    await alice.blocks(dave)
    made = await alice.makes_list()
    timeline_names = names(alice, made.id)
    async with (
        open_socket(daphne, await sign_in_cookie(bob)) as friend,
        curious(daphne, await sign_in_cookie(mallory), timeline_names) as one,
        curious(daphne, await sign_in_cookie(dave), timeline_names) as two,
        curious(daphne, None, timeline_names) as three,
    ):
        await friend.subscribe("home")
        ids = await private_life(world, alice, bob, made.id)
        await alice.publishes(f"{PLAIN} #tea")
        await world.deliver_all()
        await friend.receive_entry(int(ids[0]), "home")  # the follower receives it
        for reader in (one, three):
            while not (reader.entry_ids("public") and reader.entry_ids("tag:tea")):
                await reader.receive()
        for reader in (one, two, three):
            await reader.collect_for(1.0)
            received = json.dumps(reader.got)
            assert not [word for word in (*SECRETS, *ids) if word in received]
            assert {m["code"] for m in reader.got if m["type"] == "error"} <= REFUSALS
        assert PLAIN not in json.dumps(two.got)


async def test_a_watcher_gets_no_counts_of_a_hidden_post(
    daphne: DaphneProcess, world: World, acts: PersonReactions
) -> None:
    alice, bob, mallory = await world.people("alice", "bob", "mallory")
    await bob.follows(alice)
    hidden = await alice.publishes("canary-followers", audience=FOLLOWERS)
    public_post = await alice.publishes("for all")
    async with open_socket(daphne, await sign_in_cookie(mallory)) as spy, open_socket(daphne) as nobody:
        for reader in (spy, nobody):
            await reader.send({"type": "watch", "ids": [str(hidden.id), str(public_post.id)]})
            await reader.subscribe("public")
        for post in (hidden, public_post):
            await acts.likes(bob, post)
        for reader in (spy, nobody):
            await reader.receive_until(lambda m: m["type"] == "counts" and m["id"] == str(public_post.id))
            await reader.collect_for(0.5)
            assert str(hidden.id) not in json.dumps(reader.got)
