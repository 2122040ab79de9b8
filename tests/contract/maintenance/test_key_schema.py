"""The declarations of key families, compared with the keys of a completely used site on real servers.

Every key has a declaration and every declaration has a key, with the declared type and lifetime.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from accounts.mail.links import confirmation_token
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.sanctions import SanctionService
from socialsite.alerts.board import AlertRepository
from socialsite.alerts.service import AlertService
from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.limits import Caller
from socialsite.migration.store_factory import open_store
from socialsite.recipes.buffer import Entity, FlushResult
from socialsite.recipes.job_queue import MAX_JOBS_PER_SENDER
from socialsite.recipes.lock import Lock
from socialsite.recipes.periodic_tasks import PeriodicTasks
from socialsite.recipes.pubsub_listener import PubSubListener
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services, share_newest_post_id
from socialsite.store.key import KEY_PATTERN
from socialsite.store.key_families import FAMILIES, find_family
from socialsite.store.topology.shard_map import SHARDS_ONLY
from socialsite.web.requests import FormFields
from socialsite.web.services import loop_services
from tests.support.api import OAuthClient
from tests.support.browser import HttpBrowser
from tests.support.key_watch import USUAL_FAMILIES, KeyWatch
from tests.support.pictures import encode_all, picture, uploaded
from tests.support.ports import free_ports
from tests.support.push_device import PushDevice
from tests.support.redis_server import RedisServer
from tests.support.second_factors import set_up_totp
from tests.support.world import Person, World
from timelines.audit.sampler import DamageCounts
from timelines.drafts.draft import Draft
from timelines.errors import PostHeld
from timelines.importing.graph import GraphOptions
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import PostsOptions
from timelines.importing.rows import RowRules
from timelines.jobs import DeleteBoostsOfPost, encode_job
from timelines.live_updates.delivery_lag import DeliveryLag
from timelines.notifications.kinds import FOLLOW
from timelines.notifications.pending import PendingNotification
from timelines.posts.post import Post, PostDetails
from timelines.previews.preview import LinkPreview
from timelines.publishing.forms import PostForm
from timelines.publishing.poll_form import PollForm
from timelines.search.repository import RARE_TERM_CAP, partition_of_post

LIMITS = {"post": 100, "follow": 100, "login": 100, "signup": 100, "address": 1000}


@pytest.fixture
async def site(redis_url: str) -> AsyncIterator[Services]:
    async with open_services(redis_url, ServiceConfig(rate_limits=dict(LIMITS))) as opened:
        loop_services.bind(opened)
        yield opened


@pytest.fixture
async def hub(site: Services) -> AsyncIterator[PubSubListener]:
    """Open the listener of a web process."""
    listener = PubSubListener(site.store, site.clock, on_message=_ignore, on_lost=lambda: None, on_resynced=_rest)
    await listener.open()
    yield listener
    await listener.close()


@pytest.fixture
def watch(redis_server: RedisServer, redis_url: str) -> Iterator[KeyWatch]:
    with redis_server.client() as client:
        yield KeyWatch(client, USUAL_FAMILIES)


async def test_every_key_has_its_declaration_and_every_declaration_its_key(
    site: Services, hub: PubSubListener, watch: KeyWatch, tmp_path: Path
) -> None:
    world = World(site)
    await hub.add_member("42")
    await DeliveryLag(site.store).note(PostId(1 << 20), site.clock.now_ms())
    await site.repositories.fan_out_on_read_authors.add(AccountId(1), site.clock.now_ms())
    await DamageCounts(site.store).add({"kind": 1})
    await site.site.change(name="Ours")
    await AlertService(site).check()
    await AlertRepository(site.store).record_backup(site.clock.now_ms())
    await site.site.announce("Hello", starts_ms=0, ends_ms=0, now_ms=site.clock.now_ms())
    await site.accounts.sign_up(handle="olga", password=None, now_ms=site.clock.now_ms(), staff=True)
    await AuditLog(site.store).record(Actor(1, "abad1dea"), "suspend", "account:2")
    for use in (use_pages, use_lists, use_queue, use_statistics, use_notices, use_relations):
        await use(site, world)
        watch.scan()
    await use_imports(site, tmp_path)
    await use_search(site)
    await use_pictures(site, world)
    await share_newest_post_id(site.store, site.ids)
    watch.scan()
    await world.deliver_all()
    watch.scan()
    assert not watch.wrong, "\n".join(sorted(set(watch.wrong)))
    assert not watch.unmet, f"declared, but not on the server: {watch.unmet}"


async def use_pages(site: Services, world: World) -> None:
    """Use the site over HTTP, so that sessions and limits are stored."""
    bob = await world.person("bob")
    async with HttpBrowser(application) as alice:
        assert (await alice.sign_up("alice")).status_code == 201
        assert (await alice.post_json("/@bob/follow/")).status_code == 200
        await bob.publishes("hello #World")
        first = await alice.publish("words and a #fresh hashtag", idempotency_key="{x}: *")
        answer = await alice.publish("an answer", in_reply_to=first["id"])
        await alice.publish("and one to that", in_reply_to=answer["id"])
        assert (await alice.post_json(f"/posts/{answer['id']}/delete/")).status_code == 200
        assert (await alice.post_json(f"/posts/{first['id']}/edit/", text="other words")).status_code == 200
        assert len((await alice.get_json("/")).json()["posts"]) == 3
        await use_reports(site, bob, PostId(int(first["id"])))
        assert (await alice.post_json("/accounts/confirm/", password="wrong")).status_code == 422
        await set_up_totp(alice, site.clock)
        assert (await alice.post_json("/accounts/login/options/")).status_code == 200
        app = await OAuthClient.register(alice.http)
        await app.get_code(alice)
        await app.get_token(alice)
        assert (await alice.log_in("alice")).status_code == 401


async def use_reports(site: Services, bob: Person, post_id: PostId) -> None:
    alice_id = AccountId((await site.accounts.get_by_handle("alice")).id)
    about_bob, about_alice = [
        await site.reports.report(reporter_id=one, target_id=other, category="spam", comment="", post_ids=[post_id])
        for one, other in ((alice_id, bob.id), (bob.id, alice_id))
    ]
    await site.reports.claim(AccountId(9), about_alice.id)
    await site.reports.close(AccountId(9), [about_bob.id])


async def use_lists(site: Services, world: World) -> None:
    carol, dave = await world.people("carol", "dave")
    made = await carol.makes_list(dave, title="Good people")
    await site.lists.edit(owner_id=carol.id, list_id=made.id, exclusive=True)
    left = await carol.makes_list(dave, title="Public people")
    await site.lists.edit(owner_id=carol.id, list_id=left.id, public_ms=site.clock.now_ms())
    await site.lists.leave(account_id=dave.id, list_id=left.id, now_ms=site.clock.now_ms())
    await site.markers.move(carol.id, "home", PostId(1))
    await dave.publishes("for the list")
    await site.lists.read_timeline(made.id, viewer_id=carol.id)


async def use_search(site: Services) -> None:
    """Add a term with too many posts for a rare term, a pending post and a pending notification."""
    await site.repositories.pending_search_posts.add(PostId(1))
    await site.repositories.pending_notifications.add(PendingNotification(FOLLOW, AccountId(1), AccountId(2)), 1)
    ids = [PostId(number) for number in range(1, 1000) if partition_of_post(number) == 0]
    await site.search_indexer.add_posts(Post(id, AccountId(1), "often") for id in ids[: RARE_TERM_CAP + 1])


async def use_notices(site: Services, world: World) -> None:
    erin, frank = await world.people("erin", "frank")
    await erin.follows(frank)
    await site.notifications.mark_read(frank.id, PostId(1 << 52))
    await site.repositories.notifications.set_preferences(frank.id, {"like": "none"})
    await site.followed_hashtags.follow(account_id=erin.id, tag="words", now_ms=site.clock.now_ms())
    post, now_ms = await frank.publishes("#words"), site.clock.now_ms()
    subscription = site.push.parse_subscription(endpoint="https://push.example.com/", **PushDevice("").keys)
    await site.push.save(erin.id, "0" * 64, subscription)
    await site.push.public_key()
    for act in (site.reactions.like, site.reactions.boost, site.reactions.bookmark):
        await act(account_id=erin.id, post_id=post.id, now_ms=now_ms)
    await site.pins.pin(account_id=frank.id, post_id=post.id, now_ms=now_ms)
    await erin.publishes("look", details=PostDetails(quote_of=post.id))
    linking = await frank.publishes("https://example.com/")
    await site.repositories.previews.save(LinkPreview("https://example.com/", "title"))
    await site.previews.remove(frank.id, linking.id)
    boosted = await frank.publishes("on its way out")
    await site.reactions.boost(account_id=erin.id, post_id=boosted.id, now_ms=now_ms)
    await site.repositories.posts.delete(boosted.id, frank.id)  # stop before the boosts are deleted


async def use_relations(site: Services, world: World) -> None:
    grace, heidi, ivan = await world.people("grace", "heidi", "ivan")
    await grace.blocks(heidi)
    await grace.mutes(ivan)
    await site.blocks_and_mutes.hide_boosts(account_id=grace.id, other_id=ivan.id, now_ms=site.clock.now_ms())
    await site.filters.add(account_id=grace.id, phrase="tea")
    await site.blocks_and_mutes.set_note(account_id=grace.id, other_id=ivan.id, note="loud")
    noisy = await ivan.publishes("noise")
    await site.muted_threads.mute(account_id=grace.id, post_id=noisy.id, now_ms=site.clock.now_ms())
    token = confirmation_token(grace.id, "grace@example.org")
    await site.mail.request_address(grace.id, "grace@example.org", None)
    await site.mail.confirm_address(token)
    await site.mail.choose_digest(grace.id, "weekly")
    await site.mail_queue.postpone(b"a job", site.clock.now_ms())
    await site.staff.set_role(heidi.id, "moderator")
    warning = await SanctionService(site).apply(Actor(heidi.id, "abad1dea"), ivan.id, "warning", "Please be kind.")
    await site.sanctions.appeal(ivan.id, warning.id, "I think that I have been kind to everybody.")
    await site.repositories.sanctions.due.add((ivan.id, warning.id), site.clock.now_ms())
    await ivan.locks()
    await grace.follows(ivan)
    now_ms = site.clock.now_ms()
    poll = await site.publishing.publish(author_id=heidi.id, text="Tea?", poll=PollForm(("yes", "no")), now_ms=now_ms)
    await site.polls.vote(account_id=ivan.id, post_id=poll.id, choices=[0])
    await site.polls.schedule_end(poll)
    await site.drafts.save(grace.id, Draft(0, (("text", "later"),), scheduled_ms=now_ms + 3_600_000))
    await site.site.change(joining="approval", holds_first_links=True)
    await site.joining.invite(await site.accounts.get(heidi.id), uses=1, days="7", note="")
    names = {"handle": "nora", "password": "a long password 7", "display_name": "", "reason": "to talk about tea " * 2}
    await site.joining.sign_up(**names, caller=Caller(None, "192.0.2.7"))
    form = PostForm.parse(FormFields([("text", "see https://example.com/")]))
    with pytest.raises(PostHeld):
        await site.publishing.publish_form(form, author_id=(await world.person("oscar")).id, now_ms=now_ms)


async def use_queue(site: Services, world: World) -> None:
    await site.outbox.create_group()
    await site.outbox.send_heartbeat("abad1dea")
    await site.outbox.add(b"not a job")
    for job in await site.outbox.fetch("abad1dea", 100, 10):
        if job.payload == b"not a job":
            await site.outbox.move_to_dead_letters(job, "it is none")
        else:
            await site.outbox.finish(job, await site.fan_out.handle(job.payload))
    for _ in range(MAX_JOBS_PER_SENDER + 1):
        await site.outbox.add(encode_job(DeleteBoostsOfPost(PostId(1))), sender=1)


async def use_statistics(site: Services, world: World) -> None:
    """Count views; leave one buffer flushed, one taken and one waiting."""
    await site.repositories.popular.replace({"all": {PostId(1): 1.0}, "de": {PostId(1): 1.0}})
    meter, flusher, now_ms = site.statistics.meter, site.statistics.flusher, site.clock.now_ms()
    meter.count_view(Entity("post", 1))
    await meter.flush()
    assert await PeriodicTasks(site.store, []).run_if_due(site.statistics.periodic_tasks[0])
    meter.count_view(Entity("post", 1))
    await meter.flush()
    await flusher.take_batches([Entity("post", 1)], now_ms, FlushResult())
    meter.count_view(Entity("post", 1))
    await meter.flush()
    await Lock(site.store, "flush").acquire()


async def use_pictures(site: Services, world: World) -> None:
    """Encode a picture, and leave another in the queue."""
    judy = await world.person("judy")
    await site.media.upload(owner_id=judy.id, content=uploaded(picture()))
    assert await encode_all(site) == 1
    await site.media_deletion.measure()
    await site.media_queue.add(b"not a job")
    await site.repositories.accounts.deletions.add(judy.id, site.clock.now_ms() + 1_000)
    export = await site.exports.request(judy.id, "https://site.example", "en")
    await site.repositories.transfers.add_imported(judy.id, export.id, [("ab" * 16, PostId(1))], export.expires_ms)


async def _ignore(payload: bytes) -> None:
    await asyncio.sleep(0)


async def _rest() -> None:
    await asyncio.sleep(0)


async def use_imports(site: Services, directory: Path) -> None:
    now_ms = site.clock.now_ms()
    graph, posts = directory / "graph.txt", directory / "posts.jsonl"
    graph.write_text("1 2\n1 3\n2 3\n")
    await site.graph_import.run(LineFile(graph), GraphOptions(), Tally(), now_ms)
    posts.write_text('{"id": "x:{1}", "author": "ann", "created_at": "2015-06-01T10:00:00Z", "text": "old"}\n')
    rules = RowRules(max_graphemes=500, latest_ms=now_ms)
    await site.posts_import.run(LineFile(posts), PostsOptions(rules, False, False), Tally(), now_ms)


async def test_the_keys_of_client_side_shards_are_declared() -> None:
    ports = free_ports(2)
    servers = [RedisServer(options=("--port", str(port), "--bind", "127.0.0.1")).start() for port in ports]
    try:
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        store = await open_store(f"redis+shards://{hosts}?partitioner=list")
        await store.close()
        for server in servers:
            with server.client() as client:
                watch = KeyWatch(client, [each for each in FAMILIES.values() if each.condition == SHARDS_ONLY])
                watch.scan()
                assert not watch.wrong, watch.wrong
                assert not watch.unmet, watch.unmet
    finally:
        for server in servers:
            server.stop()


async def test_the_channels_of_live_updates_are_declared(hub: PubSubListener, watch: KeyWatch) -> None:
    open_channels = [name.decode() for name in watch.client.execute_command("PUBSUB", "SHARDCHANNELS")]
    assert sum(name.startswith("live:{l") for name in open_channels) == 16
    assert len(open_channels) > 16, "the process has a channel of its own"
    channels = {each for each in FAMILIES.values() if each.redis_type == "channel"}
    assert {find_family(name) for name in open_channels} == channels
    assert all(KEY_PATTERN.fullmatch(name) for name in open_channels)


@pytest.mark.parametrize("account_id", [AccountId(7)])
def test_the_comparison_reports_wrong_keys(watch: KeyWatch, account_id: AccountId) -> None:
    watch.client.set("posts:{7}:draft", "unknown")
    watch.client.set(f"timelines:{{{account_id}}}:profile", "of another type")
    watch.client.set("accounts:{7}:Account", "outside the grammar")
    watch.client.set("jobs:{outbox}:worker:abad1dea", "for ever")
    watch.scan()
    assert len(watch.wrong) == 5, watch.wrong
    assert len(watch.unmet) == len(watch.families) - 2
