"""A process that edits a post is killed by SIGKILL after any of its replies from the store, and so is the worker."""

from socialsite.container import Services
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.world import Person, World
from timelines.posts.post import Post

MAX_REPLIES = 40
EDIT = """
async def act(services, line):
    from timelines.posts.post import PostDetails
    from timelines.publishing.forms import EditForm

    author_id, post_id = map(int, line.split())
    if author_id:
        await services.edits.edit(
            EditForm("second @reader #after", PostDetails()), account_id=author_id, post_id=post_id,
            now_ms=services.clock.now_ms(),
        )
    else:
        (job,) = await services.outbox.fetch("deadbeef", 1, 1)
        await services.fan_out.handle(job.payload)
"""


async def check_all_or_nothing(services: Services, post: Post, reader: Person) -> bool:
    """Return whether the post is edited. Hashtags, search, versions and notifications must say the same."""
    shown = (await services.reading.post(post.id, viewer_id=None)).post
    is_edited = shown.text != post.text
    tags = {}
    for tag in ("before", "after"):
        page = await services.reading.tag(tag, viewer_id=None, limit=100)
        tags[tag] = post.id in [entry.post.id for entry in page.entries]
    assert tags == {"before": not is_edited, "after": is_edited}
    assert [each.text for each in await services.edits.versions(post.id)] == [post.text, shown.text][: 1 + is_edited]
    notifications = await services.notifications.page(reader.id, limit=100)
    assert sum(each.entry is not None and each.entry.post.id == post.id for each in notifications.entries) == is_edited
    return is_edited


async def test_an_edit_is_complete_or_has_not_begun_after_a_crash_of_its_process_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    """After an even number of replies the worker continues alone, after an odd one the author repeats the edit."""
    author, reader = await world.people("author", "reader")
    results = []
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, EDIT) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            post = await author.publishes(f"first{replies} #before")
            await world.deliver_all()
            if not await run_and_die(proxy, stdin, stdout, b"%d %d" % (author.id, post.id), replies):
                break
            if replies % 2:
                await author.edits(post, "second @reader #after")
            await world.deliver_all()
            results.append(await check_all_or_nothing(services, post, reader))
    assert results[0] is False
    assert results[-1] is True
    assert results[::2] == sorted(results[::2])  # from one step on, the stored job finishes the edit
    assert all(results[1::2])
    assert 4 < len(results) < MAX_REPLIES


async def test_the_job_of_an_edit_is_finished_after_a_crash_of_the_worker_at_any_step(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    author, reader = await world.people("author", "reader")
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, EDIT) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            post = await author.publishes(f"first{replies} #before")
            await world.deliver_all()
            await author.edits(post, "second @reader #after")
            has_died = await run_and_die(proxy, stdin, stdout, b"0 0", replies)
            for job in await services.outbox.reclaim("abad1dea"):
                await services.outbox.finish(job, await services.fan_out.handle(job.payload))
            await world.deliver_all()
            if not has_died:
                break
            assert await check_all_or_nothing(services, post, reader)
    assert 4 < replies < MAX_REPLIES
