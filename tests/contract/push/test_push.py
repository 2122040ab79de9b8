"""Push messages: what a device receives, and when a subscription ends."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.utils.translation import activate
from msgspec import structs

from accounts.sessions.values import BearerToken, SessionToken, StoredSession, TokenGrant
from socialsite.container import Services
from socialsite.encryption import seal
from socialsite.errors import Invalid, NotFound
from socialsite.ids import MAX_ID, PostId
from socialsite.recipes.job import RetryLater
from tests.support.notifications import ThreePeople
from tests.support.push_device import PushDevice, push_service, read_claims
from tests.support.remote_server import RemoteServer, respond, use_client
from tests.support.world import Person, World
from timelines import keys
from timelines.push.repository import SUBSCRIPTIONS_CAP
from timelines.push.subscription import SEALED_FOR

ACCEPTED = respond(b"", "text/plain", status="201 Created")


@dataclass
class PushScene:
    world: World
    services: Services
    server: RemoteServer
    devices: dict[str, PushDevice] = field(default_factory=dict)

    async def subscribe(self, person: Person, path: str = "/device", session_id: str = "", **changes: Any) -> str:
        """Subscribe a new access token of the person, and return its id."""
        if not session_id:
            grant = TokenGrant("", "App", ("read", "push"))
            text = await self.services.access_tokens.issue(person.account, grant)
            bearer = BearerToken.parse(text)
            assert bearer is not None
            session_id = bearer.session_id
        device = self.devices[path] = PushDevice(self.server.origin + path)
        parsed = self.services.push.parse_subscription(endpoint=device.endpoint, **device.keys)
        await self.services.push.save(person.id, session_id, structs.replace(parsed, **changes))
        self.server.answers.setdefault(path, ACCEPTED)
        return session_id

    async def deliver(self) -> list[dict[str, Any]]:
        """Run the workers, and return the messages that the devices received since the last call."""
        await self.world.deliver_all()
        self.server.requests.clear()
        queue = self.services.push_queue
        await queue.create_group()
        while jobs := await queue.fetch("abad1dea", 100, 1):
            for job in jobs:
                await self.services.push_sending.handle(job.payload)
                await queue.finish(job)
        return [self.devices[request.path].decrypt(request) for request in self.server.requests]


@pytest.fixture
async def scene(world: World, services: Services, tmp_path: Path) -> AsyncIterator[PushScene]:
    activate("en")
    async with push_service(tmp_path) as (server, client):
        use_client(services, client)
        yield PushScene(world, services, server)


@pytest.mark.parametrize("is_standard", [True, False])
async def test_a_device_receives_a_message_that_only_it_can_read(
    scene: PushScene, alice: Person, bob: Person, is_standard: bool
) -> None:
    await scene.subscribe(alice, is_standard=is_standard, sealed_token=seal("the token", SEALED_FOR))
    await bob.publishes("@alice a secret of bob")
    (message,) = await scene.deliver()
    assert (message["title"], message["body"]) == ("New notification", "")
    assert (message["notification_type"], message["access_token"]) == ("mention", "the token")
    (request,) = scene.server.requests
    assert b"secret" not in request.body
    headers = request.headers
    assert headers["content-encoding"] == ("aes128gcm" if is_standard else "aesgcm")
    assert (headers["ttl"], headers["urgency"], len(headers["topic"])) == ("172800", "high", 32)
    public_key = await scene.services.push.public_key()
    authorization = headers["authorization"]
    if is_standard:
        token, key = (part.partition("=")[2] for part in authorization.removeprefix("vapid ").split(", "))
        assert key == public_key
    else:
        token = authorization.removeprefix("WebPush ")
        assert headers["crypto-key"].endswith(f";p256ecdsa={public_key}")
    claims = read_claims(token, public_key)
    assert claims["aud"] == scene.server.origin
    assert time.time() < claims["exp"] <= time.time() + 12 * 3600
    assert claims["sub"].startswith(("mailto:", "https:", "http:"))


async def test_a_message_names_the_account_and_its_action_only_if_the_reader_chose_it(
    scene: PushScene, alice: Person, bob: Person
) -> None:
    await scene.subscribe(alice, locale="de")
    await bob.publishes("@alice hello")
    (message,) = await scene.deliver()
    assert (message["title"], message["body"], message["icon"]) == ("Neue Benachrichtigung", "", "")
    assert "bob" not in str(message)
    await scene.services.repositories.push_subscriptions.set_shows_text(alice.id, True)
    await bob.publishes("@alice hello\nagain")
    (message,) = await scene.deliver()
    assert (message["title"], message["body"]) == ("bob hat dich erwähnt", "@alice hello again")
    assert message["url"].startswith("/@bob/")


async def test_no_message_is_sent_about_a_post_that_the_reader_may_not_see_at_that_time(
    scene: PushScene, alice: Person, bob: Person, carol: Person
) -> None:
    await scene.subscribe(alice)
    await scene.world.deliver_all()
    deleted = await bob.publishes("@alice deleted")
    await scene.world.deliver_all()
    await bob.deletes(deleted)
    assert await scene.deliver() == []
    await carol.publishes("@alice blocked")
    await scene.world.deliver_all()
    await alice.blocks(carol)
    assert await scene.deliver() == []
    await bob.publishes("@alice muted")
    await scene.world.deliver_all()
    await alice.mutes(bob)
    assert await scene.deliver() == []
    await alice.unmutes(bob)
    await bob.publishes("@alice read")
    await scene.world.deliver_all()
    await scene.services.notifications.mark_read(alice.id, PostId(MAX_ID))
    assert await scene.deliver() == []
    await bob.publishes("@alice seen")
    assert len(await scene.deliver()) == 1
    await bob.publishes("@alice suspended")
    await scene.world.deliver_all()
    await scene.services.accounts.suspend(account_id=bob.id)
    assert await scene.deliver() == []


async def test_a_suspended_reader_receives_nothing(scene: PushScene, alice: Person, bob: Person) -> None:
    await scene.subscribe(alice)
    await bob.publishes("@alice hello")
    await scene.world.deliver_all()
    await scene.services.accounts.suspend(account_id=alice.id)
    assert await scene.deliver() == []
    assert await scene.services.repositories.push_subscriptions.find_all(alice.id) == {}


@pytest.mark.parametrize("is_standard", [True, False])
async def test_the_longest_message_is_one_record(scene: PushScene, three: ThreePeople, is_standard: bool) -> None:
    alice, bob, _ = three
    name = ("\U0001f469" + "\u200d\U0001f469" * 4) * 50  # the longest that is accepted
    await scene.services.accounts.edit_profile(account_id=bob.id, display_name=name)
    await scene.subscribe(alice, is_standard=is_standard, sealed_token=seal("t" * 64, SEALED_FOR))
    await scene.services.repositories.push_subscriptions.set_shows_text(alice.id, True)
    await bob.publishes('@alice "' + "\U0001f469" * 400)
    (message,) = await scene.deliver()
    assert name in message["title"]
    (request,) = scene.server.requests
    assert len(request.body) <= 4096  # RFC 8030, 7.2


async def test_the_kinds_and_the_policy_of_a_device_decide(scene: PushScene, three: ThreePeople) -> None:
    alice, bob, carol = three
    await scene.subscribe(alice, "/follows", kinds=("follow",))
    await scene.subscribe(alice, "/followed", policy="followed")
    await scene.subscribe(alice, "/follower", policy="follower")
    await scene.subscribe(alice, "/none", policy="none")
    await alice.follows(bob)
    await carol.follows(alice)
    assert await scene.deliver() != []
    assert {request.path for request in scene.server.requests} == {"/follows", "/follower"}
    await bob.publishes("@alice one")
    await scene.deliver()
    assert {request.path for request in scene.server.requests} == {"/followed"}


async def test_a_subscription_ends_with_its_session_or_token(scene: PushScene, alice: Person, bob: Person) -> None:
    token_id = await scene.subscribe(alice, "/token")
    session = SessionToken.generate(alice.id)
    await scene.services.repositories.sessions.open(
        session, StoredSession(1, scene.services.clock.now_ms(), "", {}), scene.services.clock.now_ms()
    )
    await scene.subscribe(alice, "/session", session.session_id)
    await scene.services.sessions.end(alice.id, token_id)
    stored = scene.services.repositories.push_subscriptions
    assert list(await stored.find_all(alice.id)) == [session.session_id]
    await bob.publishes("@alice hello")
    assert await scene.deliver() == []  # the data of this session is of no account: it is not signed in
    assert await stored.find_all(alice.id) == {}
    await scene.subscribe(alice, "/other")
    await scene.services.sessions.end_all(alice.id)
    assert await stored.find_all(alice.id) == {}


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone"])
async def test_a_device_that_is_gone_is_removed(scene: PushScene, alice: Person, bob: Person, status: str) -> None:
    scene.server.answers["/device"] = respond(b"", "text/plain", status=status)
    session_id = await scene.subscribe(alice)
    await bob.publishes("@alice hello")
    await scene.deliver()
    assert await scene.services.push.find(alice.id, session_id) is None


async def test_an_answer_of_a_push_service_is_not_read(scene: PushScene, alice: Person, bob: Person) -> None:
    scene.server.answers["/device"] = respond(
        b"\x1f\x8b no gzip", "text/plain", "Content-Encoding: gzip", status="201 Created"
    )
    session_id = await scene.subscribe(alice)
    await bob.publishes("@alice hello")
    assert len(await scene.deliver()) == 1
    assert await scene.services.push.find(alice.id, session_id) is not None


async def test_a_busy_push_service_is_tried_again_after_the_time_that_it_demands(
    scene: PushScene, alice: Person, bob: Person
) -> None:
    await scene.subscribe(alice)
    await bob.publishes("@alice hello")
    await scene.world.deliver_all()
    queue = scene.services.push_queue
    await queue.create_group()
    (job,) = await queue.fetch("abad1dea", 10, 1)
    for status, header, delay_ms in (
        ("429 Too Many Requests", "Retry-After: 120", 120_000),
        ("503 Service Unavailable", "Retry-After: 999999", 3_000_000),
        ("500 Internal Server Error", "X-Other: 1", 0),
        ("503 Service Unavailable", "Retry-After: soon", 0),
    ):
        scene.server.answers["/device"] = respond(b"", "text/plain", header, status=status)
        with pytest.raises(RetryLater) as raised:
            await scene.services.push_sending.handle(job.payload)
        assert raised.value.delay_ms == delay_ms
    scene.server.answers["/device"] = ACCEPTED
    await scene.services.push_sending.handle(job.payload)
    topics = {request.headers["topic"] for request in scene.server.requests}
    assert len(topics) == 1  # a repetition replaces an undelivered message


async def test_an_address_that_the_guard_refuses_is_no_push_service(scene: PushScene, three: ThreePeople) -> None:
    for endpoint in ("https://127.0.0.1/", "http://push.example.com/", "https://localhost/", "file:///etc/passwd", ""):
        with pytest.raises(Invalid):
            scene.services.push.parse_subscription(endpoint=endpoint, **PushDevice("").keys)
    right = PushDevice("").keys
    for wrong in ({"p256dh": "AAAA"}, {"p256dh": right["auth"]}, {"auth": "x"}, {"auth": ""}, {"p256dh": "é"}):
        with pytest.raises(Invalid):
            scene.services.push.parse_subscription(endpoint="https://push.example.com/", **(right | wrong))


async def test_an_account_has_a_limited_number_of_devices_and_each_once(scene: PushScene, alice: Person) -> None:
    ids = [await scene.subscribe(alice, f"/{number}") for number in range(SUBSCRIPTIONS_CAP + 3)]
    stored = scene.services.repositories.push_subscriptions
    assert len(await stored.find_all(alice.id)) == SUBSCRIPTIONS_CAP
    newest = await scene.subscribe(alice, f"/{SUBSCRIPTIONS_CAP + 2}")  # the same device with a new token
    assert {newest} == set(await stored.find_all(alice.id)) - set(ids)
    assert ids[-1] not in await stored.find_all(alice.id)


async def test_a_damaged_subscription_counts_as_none(scene: PushScene, alice: Person, bob: Person) -> None:
    key, store = keys.push_subscriptions(alice.id), scene.services.store.component("timelines")
    session_id = await scene.subscribe(alice, "/damaged")
    for value in (b"", b"\x90", b"\x81\xa8endpoint\xa1\xff"):
        await store[key].execute("HSET", key, session_id, value)
        assert await scene.services.push.find(alice.id, session_id) is None
    await scene.subscribe(alice)
    await bob.publishes("@alice hello")
    await scene.deliver()
    assert {request.path for request in scene.server.requests} == {"/device"}


async def test_the_key_of_the_site_is_made_once_and_stored(scene: PushScene, services: Services) -> None:
    key = await services.push.public_key()
    stored = services.repositories.push_subscriptions
    assert await stored.load_vapid_key() == await stored.load_vapid_key()
    assert await Services(services.store, services.clock, services.config).push.public_key() == key


async def test_a_site_without_push_queues_and_offers_nothing(scene: PushScene, alice: Person, bob: Person) -> None:
    await scene.subscribe(alice)
    services = scene.services
    off = Services(services.store, services.clock, replace(services.config, push_enabled=False))
    with pytest.raises(NotFound):
        off.push.parse_subscription(endpoint="https://push.example.com/", **PushDevice("").keys)
    assert await off.push.public_key() == ""
    assert await off.push.read_devices([alice.id]) == {}
    assert await services.push.read_devices([alice.id, bob.id]) != {}
