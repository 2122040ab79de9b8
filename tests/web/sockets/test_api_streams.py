"""Streams of API clients from a real daphne: one websocket for all streams, and server-sent events."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from tests.support.api import create_token
from tests.support.daphnes import running_daphne
from tests.support.sockets import RECEIVE_TIMEOUT_S, sign_in_cookie
from tests.support.waiting import eventually
from timelines.api.streaming import EVENT_STREAMS_PER_ACCOUNT
from timelines.posts.post import FOLLOWERS, PostDetails
from timelines.publishing.forms import EditForm

Event = dict[str, Any]


class Stream:
    """The websocket of an API client."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def receive(self, timeout_s: float = RECEIVE_TIMEOUT_S) -> Event:
        async with asyncio.timeout(timeout_s):
            event: Event = json.loads(await self.connection.recv())
        return event

    async def send(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def receive_status(self, event: str = "update") -> Event:
        frame = await self.receive()
        assert frame["event"] == event, frame
        status: Event = json.loads(frame["payload"])
        return status

    async def is_silent(self, for_s: float = 0.7) -> bool:
        with contextlib.suppress(TimeoutError):
            frame = await self.receive(for_s)
            raise AssertionError(frame)
        return True

    async def close_code(self) -> int:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.receive()
        assert self.connection.close_code is not None
        return self.connection.close_code


@contextlib.asynccontextmanager
async def open_stream(daphne, token: str, query: str = "", **options: Any) -> AsyncIterator[Stream]:
    url = f"ws://127.0.0.1:{daphne.port}/api/v1/streaming{query}"
    options.setdefault("additional_headers", {"Authorization": f"Bearer {token}"} if token else {})
    async with connect(url, proxy=None, **options) as connection:
        yield Stream(connection)


async def until_open(stream: Stream, person, daphne) -> None:
    """Wait until the streams of the socket are live: an own post arrives. A subscription has no acknowledgement."""
    for _ in range(50):
        post = await person.publishes("ready?")
        with contextlib.suppress(TimeoutError):
            while True:
                frame = await stream.receive(0.3)
                if frame["event"] == "update" and json.loads(frame["payload"])["id"] == str(post.id):
                    return
    raise AssertionError("the stream did not open")


@pytest.mark.parametrize("place", ["header", "query", "subprotocol"])
async def test_a_token_opens_a_stream_from_each_place(daphne, world, services, place) -> None:
    alice = await world.person("alice")
    token = await create_token(services, "alice", "read")
    options: dict[str, Any] = {"additional_headers": {"Authorization": f"Bearer {token}"} if place == "header" else {}}
    if place == "subprotocol":
        options["subprotocols"] = [Subprotocol(token)]
    query = f"?stream=user&access_token={token}" if place == "query" else "?stream=user"
    async with open_stream(daphne, "", query, origin="https://elk.example", **options) as stream:
        assert stream.connection.subprotocol == (token if place == "subprotocol" else None)
        await until_open(stream, alice, daphne)


async def test_neither_a_cookie_nor_a_wrong_token_opens_a_stream(daphne, world, services) -> None:
    alice = await world.person("alice")
    cookie = await sign_in_cookie(alice)
    for headers, status in (
        ({"Cookie": f"sessionid={cookie}"}, 401),
        ({"Authorization": f"Bearer {cookie}"}, 401),
        ({"Authorization": f"Bearer {await create_token(services, 'alice', 'write')}"}, 403),
        ({}, 401),
    ):
        with pytest.raises(InvalidStatus) as refused:
            async with open_stream(daphne, "", "?stream=user", additional_headers=headers):
                pass
        assert refused.value.response.status_code == status


async def test_one_socket_has_posts_edits_deletions_notifications_and_changes_of_filters(
    daphne, world, services
) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    async with open_stream(daphne, await create_token(services, "alice", "read"), "?stream=user") as stream:
        await until_open(stream, alice, daphne)
        post = await bob.publishes("first version")
        await world.deliver_all()
        status = await stream.receive_status()
        assert (status["id"], status["account"]["acct"], status["favourited"]) == (str(post.id), "bob", False)
        await bob.edits(post, "second version")
        await world.deliver_all()
        assert "second version" in (await stream.receive_status("status.update"))["content"]
        await bob.deletes(post)
        assert (await stream.receive()) == {"stream": ["user"], "event": "delete", "payload": str(post.id)}
        await bob.follows(alice)
        notification = await stream.receive_status("notification")
        assert (notification["type"], notification["account"]["acct"]) == ("follow", "bob")
        await services.filters.add(account_id=alice.id, phrase="spoilers")
        assert await stream.receive() == {"stream": ["user"], "event": "filters_changed"}


async def test_an_edit_is_sent_once_also_if_a_worker_stores_it_first(daphne, world, services) -> None:
    """mastodon/mastodon#28324: a client that counts events sees one edit."""

    class WorkedOutbox:
        async def add(self, payload: bytes, **options: Any) -> None:
            await services.edits.outbox.add(payload, **options)
            await world.deliver_all()

    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    editor = replace(services.edits, outbox=WorkedOutbox())
    async with open_stream(daphne, await create_token(services, "alice", "read"), "?stream=user") as stream:
        await until_open(stream, alice, daphne)
        post = await bob.publishes("first version")
        await world.deliver_all()
        await stream.receive_status()
        for edits, text in ((services.edits, "second version"), (editor, "third version")):
            now_ms = services.clock.now_ms()
            await edits.edit(EditForm(text, PostDetails()), account_id=bob.id, post_id=post.id, now_ms=now_ms)
            await world.deliver_all()
        contents = [(await stream.receive_status("status.update"))["content"] for _ in range(2)]
        assert contents == ["<p>second version</p>", "<p>third version</p>"]
        await bob.deletes(post)
        assert (await stream.receive())["event"] == "delete"


async def test_a_private_post_never_reaches_the_stream_of_a_stranger(daphne, world, services) -> None:
    alice, bob, stranger = await world.people("alice", "bob", "stranger")
    await alice.follows(bob)
    tokens = [await create_token(services, handle, "read") for handle in ("alice", "stranger")]
    async with open_stream(daphne, tokens[0], "?stream=user") as friend, open_stream(daphne, tokens[1]) as other:
        for name in ("user", "public", "public:local"):
            await other.send(type="subscribe", stream=name)
        for name in ("hashtag", "hashtag:local"):
            await other.send(type="subscribe", stream=name, tag="secret")
        await until_open(friend, alice, daphne)
        await until_open(other, stranger, daphne)
        while (await other.receive())["stream"] != ["public:local"]:
            pass
        post = await bob.publishes("only for followers #secret", audience=FOLLOWERS)
        await world.deliver_all()
        assert (await friend.receive_status())["id"] == str(post.id)
        await bob.edits(post, "still only for followers #secret")
        assert (await friend.receive_status("status.update"))["visibility"] == "private"
        await bob.deletes(post)
        assert (await friend.receive())["event"] == "delete"
        public = await bob.publishes("for everybody #secret")
        frames: list[Event] = []
        while len(frames) < 4:
            frame = await other.receive()
            assert "only for followers" not in frame["payload"]
            frames += [frame] if "ready?" not in frame["payload"] else []
        assert {json.loads(frame["payload"])["id"] for frame in frames} == {str(public.id)}
        assert sorted(" ".join(frame["stream"]) for frame in frames) == [
            "hashtag secret", "hashtag:local secret", "public", "public:local",
        ]  # fmt: skip


async def test_a_list_of_another_account_is_refused_and_the_socket_stays(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    other = await services.lists.create(owner_id=bob.id, title="friends", now_ms=services.clock.now_ms())
    async with open_stream(daphne, await create_token(services, "alice", "read")) as stream:
        await stream.send(type="subscribe", stream="list", list=str(other.id))
        assert await stream.receive() == {"error": "Record not found", "status": 404}
        await stream.send(type="subscribe", stream="unknown")
        assert await stream.receive() == {"error": "Unknown stream type", "status": 400}
        await stream.connection.send("no json")
        assert (await stream.receive())["status"] == 400
        await stream.send(type="subscribe", stream="user")
        await until_open(stream, alice, daphne)
        await stream.send(type="unsubscribe", stream="user")
        await stream.send(type="subscribe", stream="unknown")
        assert (await stream.receive())["status"] == 400
        await alice.publishes("nobody reads this")
        assert await stream.is_silent()


async def test_scopes_select_what_the_stream_of_the_user_contains(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    async with open_stream(daphne, await create_token(services, "alice", "read:statuses"), "?stream=user") as stream:
        await until_open(stream, alice, daphne)
        await bob.follows(alice)
        assert await stream.is_silent()
    async with open_stream(daphne, await create_token(services, "alice", "read:notifications")) as stream:
        await stream.send(type="subscribe", stream="user")
        assert (await stream.receive())["status"] == 401
        await stream.send(type="subscribe", stream="user:notification")


@pytest.mark.parametrize("loss", ["revocation", "suspension"])
async def test_a_lost_token_closes_the_socket_and_ends_the_events(daphne, world, services, loss) -> None:
    alice = await world.person("alice")
    token = await create_token(services, "alice", "read")
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        open_stream(daphne, token, "?stream=user") as stream,
        httpx.AsyncClient(base_url=daphne.origin, headers=headers, timeout=20, trust_env=False) as client,
        client.stream("GET", "/api/v1/streaming/user") as response,
    ):
        assert response.headers["content-type"] == "text/event-stream"
        chunks = response.aiter_text()
        assert await anext(chunks) == ":thump\n"
        await until_open(stream, alice, daphne)
        if loss == "revocation":
            _account, loaded = await services.access_tokens.load(token)
            assert loaded is not None
            assert await services.access_tokens.end(loaded)
        else:
            await services.accounts.suspend(account_id=alice.id)
        assert await stream.close_code() == 4401
        async with asyncio.timeout(15):
            async for _ in chunks:
                pass


async def test_server_sent_events_have_an_event_and_data(daphne, world, services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    token = await create_token(services, "alice", "read")
    async with httpx.AsyncClient(base_url=daphne.origin, timeout=20, trust_env=False) as client:
        assert (await client.get("/api/v1/streaming/health")).text == "OK"
        assert (await client.get("/api/v1/streaming/user")).status_code == 401
        client.headers["Authorization"] = f"Bearer {token}"
        assert (await client.get("/api/v1/streaming/nonsense")).status_code == 422
        assert (await client.get("/api/v1/streaming/list?list=12345")).status_code == 404
        async with client.stream("GET", "/api/v1/streaming/public?only_media=true") as quiet:
            assert quiet.status_code == 200
        async with client.stream("GET", "/api/v1/streaming/user") as response:
            lines: list[str] = []

            async def read() -> None:
                async for line in response.aiter_lines():
                    lines.append(line)

            reading = asyncio.create_task(read())
            for _ in range(50):  # until the subscription is live
                await bob.publishes("news")
                await world.deliver_all()
                with contextlib.suppress(TimeoutError):
                    await eventually(lambda: "" in lines, timeout_s=0.5)
                    break
            assert lines[0] == ":thump"
            position = lines.index("event: update")
            status = json.loads(lines[position + 1].removeprefix("data: "))
            assert (status["account"]["acct"], lines[position + 2]) == ("bob", "")
            reading.cancel()


async def test_a_stream_of_events_outlives_the_time_limit_of_requests_and_ends_at_a_shutdown(
    redis_server, world, services
) -> None:
    await world.person("alice")
    headers = {"Authorization": f"Bearer {await create_token(services, 'alice', 'read')}"}
    with running_daphne(redis_server.url, "--http-timeout", "1") as daphne:
        async with (
            httpx.AsyncClient(base_url=daphne.origin, headers=headers, timeout=30, trust_env=False) as client,
            client.stream("GET", "/api/v1/streaming/user") as response,
        ):
            chunks = response.aiter_text()
            assert await anext(chunks) == ":thump\n"
            ended = asyncio.ensure_future(anext(chunks, "ended"))
            await asyncio.sleep(4)  # daphne looks every 2 s for requests above the limit
            assert not ended.done()
            started = time.monotonic()
            await asyncio.to_thread(daphne.stop)
            assert await ended == "ended"
            assert time.monotonic() - started < 10


@contextlib.asynccontextmanager
async def read_events(daphne, token: str, stream: str) -> AsyncIterator[set[str]]:
    """Yield the set of the texts of posts that arrive on a stream of server-sent events."""
    texts: set[str] = set()
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx.AsyncClient(base_url=daphne.origin, headers=headers, timeout=30, trust_env=False) as client,
        client.stream("GET", f"/api/v1/streaming/{stream}") as response,
    ):

        async def read() -> None:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    content = json.loads(line.removeprefix("data: ")).get("content", "")
                    texts.add(content.removeprefix("<p>").removesuffix("</p>"))

        reading = asyncio.create_task(read())
        try:
            yield texts
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading


async def test_a_limit_is_in_force_at_once_on_open_streams_of_two_processes(daphnes, world, services) -> None:
    alice, bob, carol, dora = await world.people("alice", "bob", "carol", "dora")
    for person in (bob, dora):
        await alice.follows(person)
    tokens = {person.handle: await create_token(services, person.handle, "read") for person in (alice, carol)}
    readers = [
        (daphne, handle, stream) for daphne in daphnes for handle, stream in (("alice", "user"), ("carol", "public"))
    ]
    async with contextlib.AsyncExitStack() as stack:
        streams = [
            (handle, await stack.enter_async_context(read_events(daphne, tokens[handle], stream)))
            for daphne, handle, stream in readers
        ]

        async def all_receive(text: str, timeout_s: float = 20) -> None:
            """Publish a post of Dora, and wait until it is on all streams: what was before it has arrived."""
            await dora.publishes(text)
            await world.deliver_all()
            await eventually(lambda: all(text in texts for _handle, texts in streams), timeout_s=timeout_s)

        for number in range(50):  # until the subscriptions are live
            with contextlib.suppress(TimeoutError):
                await all_receive(f"ready {number}", 0.5)
                break
        for number, is_limited in enumerate((True, False)):
            await services.accounts.restrict(bob.id, "limit", int(is_limited))
            await bob.publishes(f"after step {number}")
            await all_receive(f"marker {number}")
        for handle, texts in streams:
            assert "after step 1" in texts, handle
            assert ("after step 0" in texts) == (handle == "alice"), handle


async def test_an_account_has_a_maximum_of_event_streams(daphne, world, services) -> None:
    await world.person("ivy")
    headers = {"Authorization": f"Bearer {await create_token(services, 'ivy')}"}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=daphne.origin, headers=headers))
        for _ in range(EVENT_STREAMS_PER_ACCOUNT):
            response = await stack.enter_async_context(client.stream("GET", "/api/v1/streaming/user"))
            assert response.status_code == 200
        assert (await client.get("/api/v1/streaming/user")).status_code == 429

    async def is_open_again() -> bool:
        async with (
            httpx.AsyncClient(base_url=daphne.origin, headers=headers) as client,
            client.stream("GET", "/api/v1/streaming/user") as response,
        ):
            return response.status_code == 200

    await eventually(is_open_again)
