"""A preview that is stored after its post was delivered appears in open pages."""

from tests.support.sockets import open_socket, running_daphne, sign_in_cookie
from timelines.previews.preview import LinkPreview
from timelines.previews.service import FetchPreview, encode_job

LINK = "https://tea.org/"


async def test_an_open_page_shows_the_preview_as_soon_as_it_is_stored(redis_server, world) -> None:
    alice, bob = await world.people("alice", "bob")
    services = world.services
    services.previews.link_previews = True
    with running_daphne(redis_server.url, LINK_PREVIEWS="1") as daphne:
        async with open_socket(daphne, await sign_in_cookie(bob)) as reader:
            await reader.subscribe("public")
            post = await alice.publishes(f"read {LINK}")
            assert "About tea" not in (await reader.receive_entry(post.id))["html"]
            await reader.send({"type": "watch", "ids": [str(post.id)]})
            now_ms = services.clock.now_ms()
            await services.repositories.previews.save(LinkPreview(LINK, "About tea", fetched_ms=now_ms))
            await services.previews.handle(encode_job(FetchPreview(LINK, alice.id, post.id)))
            edited = await reader.receive_until(lambda message: message["type"] == "edited")
            assert edited["id"] == str(post.id)
            assert "About tea" in edited["html"]
