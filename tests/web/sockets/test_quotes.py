"""Quotes on open pages: each reader gets the quoted post only if the reader may see it."""

from tests.support.sockets import SocketClient, open_socket, sign_in_cookie
from timelines.posts.post import Post, PostDetails

SECRET = "canaryquoted"


async def quote_of(reader: SocketClient, quote: Post) -> str:
    message = await reader.receive_until(lambda m: m["type"] == "quote" and m["id"] == str(quote.id))
    html: str = message["html"]
    return html


async def test_a_live_entry_contains_the_quoted_post_only_for_readers_who_may_see_it(daphnes, world) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    post = await alice.publishes(SECRET)
    await carol.mutes(alice)
    async with (
        open_socket(daphnes[0], await sign_in_cookie(carol)) as muting,
        open_socket(daphnes[0], await sign_in_cookie(dave)) as other,
        open_socket(daphnes[0]) as visitor,
    ):
        for reader in (muting, other, visitor):
            await reader.subscribe("public")
        quote = await bob.publishes("look", details=PostDetails(quote_of=post.id))
        shown = [(await reader.receive_entry(quote.id))["html"] for reader in (muting, other, visitor)]
        assert [SECRET in html for html in shown] == [False, True, True]
        assert "You muted @alice." in shown[0]


async def test_open_pages_follow_edits_deletion_and_revocation(daphnes, world) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post, other = await alice.publishes("first"), await alice.publishes(SECRET)
    quote = await bob.publishes("look", details=PostDetails(quote_of=post.id))
    second = await bob.publishes("look", details=PostDetails(quote_of=other.id))
    async with open_socket(daphnes[0], await sign_in_cookie(carol)) as reader:
        await reader.subscribe("public")
        await reader.send({"type": "watch", "ids": [str(quote.id), str(second.id)]})
        await alice.edits(post, "newer")
        assert "newer" in await quote_of(reader, quote)
        await alice.deletes(post)
        assert "The quoted post was deleted." in await quote_of(reader, quote)
        await world.services.quotes.revoke(account_id=alice.id, post_id=second.id)
        assert SECRET not in (html := await quote_of(reader, second))
        assert "The author has removed their post from this quote." in html
