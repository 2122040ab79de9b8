"""A worker that publishes a scheduled post or ends a poll is killed by SIGKILL after any of its replies."""

import pytest
from msgspec import structs

from socialsite.container import Services
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World
from timelines import keys
from timelines.drafts.draft import Draft
from timelines.drafts.repository import DuePost
from timelines.posts.post import Post, encode_post
from timelines.publishing.poll_form import PollForm

pytestmark = pytest.mark.slow

MAX_REPLIES = 30
MINUTE_MS = 60_000
DUE_WORK = """
async def act(services, line):
    if line.strip() == b"posts":
        await services.drafts.publish_due()
    else:
        await services.polls.notify_of_ended_polls()
"""


async def schedule_due_post(services: Services, author: Person, text: str) -> None:
    now_ms = services.clock.now_ms()
    draft = await services.drafts.save(author.id, Draft(0, (("text", text),), scheduled_ms=now_ms + 6 * MINUTE_MS))
    due = structs.replace(draft, scheduled_ms=now_ms - 1)
    assert await services.repositories.drafts.replace(author.id, draft, due)
    await services.repositories.drafts.due.add(DuePost(author.id, draft.id), now_ms - 1)


async def test_a_scheduled_post_is_published_once_if_its_worker_is_killed_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    author = await world.person("author")
    killed = 0
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, DUE_WORK) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            text = f"scheduled {replies}"
            await schedule_due_post(services, author, text)
            was_killed = await run_and_die(proxy, stdin, stdout, b"posts", replies)
            killed += was_killed
            await services.drafts.publish_due()
            await world.deliver_all()
            page = await services.reading.home(author.id, limit=50)
            assert [entry.post.text for entry in page.entries].count(text) == 1
            assert await services.drafts.all(author.id) == []
            assert await services.drafts.publish_due() == 0
            if not was_killed:
                break
    assert 5 < killed < MAX_REPLIES


async def publish_ended_poll(services: Services, author: Person, voter: Person) -> Post:
    now_ms = services.clock.now_ms()
    post = await services.publishing.publish(
        author_id=author.id, text="tea?", now_ms=now_ms, poll=PollForm(("yes", "no"), "3600")
    )
    await services.polls.vote(account_id=voter.id, post_id=post.id, choices=[0])
    assert post.extra.poll is not None
    poll = structs.replace(post.extra.poll, ends_ms=now_ms - 1)
    ended = structs.replace(post, details=structs.replace(post.extra, poll=poll))
    await services.store.node(keys.post(post.id)).execute("SET", keys.post(post.id), encode_post(ended))
    await services.repositories.poll_votes.ends.add(post.id, now_ms - 1)
    return post


async def test_the_end_of_a_poll_is_announced_once_if_its_worker_is_killed_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    author, voter = await world.people("author", "voter")
    killed = 0
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, DUE_WORK) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            post = await publish_ended_poll(services, author, voter)
            was_killed = await run_and_die(proxy, stdin, stdout, b"polls", replies)
            killed += was_killed
            await services.polls.notify_of_ended_polls()
            for reader in (author, voter):
                page = await services.notifications.page(reader.id, limit=100)
                ends = [each for each in page.entries if each.entry is not None and each.entry.post.id == post.id]
                assert len(ends) == 1
            assert await services.polls.notify_of_ended_polls() == 0
            if not was_killed:
                break
    assert 5 < killed < MAX_REPLIES
