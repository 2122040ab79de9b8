"""What posts take in keys that they share, told by posts picked at random: on every topology."""

import io
import json
import random
from datetime import UTC, datetime
from pathlib import Path

from socialsite.admin.memory import MemoryMonitor
from socialsite.admin.memory_shared import SHARED_FAMILIES, SharedKeySampler
from socialsite.container import Services
from socialsite.maintenance.memory import MemoryMeter, MemoryReport, TimelineCaps, make_forecast
from tests.support.world import World
from timelines import keys
from timelines.importing.graph import GraphOptions
from timelines.importing.lines import LineFile, Tally
from timelines.importing.posts import PostsOptions
from timelines.importing.rows import RowRules
from timelines.posts.post import UNLISTED, Post
from timelines.search.repository import PostIndex

AUTHORS, POSTS = 300, 2_400


async def import_posts_mostly_of_one(services: Services, folder: Path) -> None:
    """Every second post is the first account's, in words some of which are far more common than others."""
    now_ms, picks = services.clock.now_ms(), random.Random(5)
    graph, posts = folder / "graph.tsv", folder / "posts.jsonl"
    graph.write_text("".join(f"{number}\t{number + 1}\n" for number in range(AUTHORS)))
    rows = io.StringIO()
    for number in range(POSTS):
        words = " ".join(f"w{int(picks.paretovariate(0.6)) % 4000}" for _ in range(9))
        at = datetime.fromtimestamp((now_ms - (POSTS - number) * 60_000) / 1000, UTC).isoformat()
        author = f"n{picks.randrange(AUTHORS) if number % 2 else 0}"
        rows.write(json.dumps({"id": f"{number}", "author": author, "created_at": at, "text": words}) + "\n")
    posts.write_text(rows.getvalue())
    await services.graph_import.run(LineFile(graph), GraphOptions(), Tally(), now_ms)
    rules = PostsOptions(RowRules(max_graphemes=500, latest_ms=now_ms))
    await services.posts_import.run(LineFile(posts), rules, Tally(), now_ms)


async def test_a_sample_foretells_like_the_whole_where_one_key_holds_half_of_its_family(
    services: Services, tmp_path: Path
) -> None:
    """A key that is half of its family is met by few samples, and counts for many others in those."""
    await import_posts_mostly_of_one(services, tmp_path)
    for _ in range(3):
        look = await MemoryMonitor(2_000).take_snapshot(services)
        whole = await MemoryMeter(services.store, sample_size=10**9).measure(services.clock.now_ms())
        assert look.is_sampled
        told, right = (report.families["timelines:{N}:profile"].bytes for report in (look.report, whole))
        assert abs(told - right) < 0.25 * right, f"{told} bytes of profiles were told, {right} stand"
        expected = make_forecast(whole, TimelineCaps(services.config.home_cap), 0).bytes_a_post
        assert abs(look.forecast.bytes_a_post - expected) < 0.15 * expected


async def test_the_parts_of_all_posts_are_what_the_keys_weigh(services: Services, world: World) -> None:
    """Also where caps have dropped posts, where a post is gone, and of posts that strangers do not find."""
    alice, bob = await world.people("alice", "bob")
    posts: list[Post] = []
    for number in range(60):
        author, parent = (alice, posts[number // 3]) if number % 3 else (bob, None)
        posts.append(await author.publishes(f"#all {number % 20}", in_reply_to=parent))
    await alice.deletes(posts[40])
    standing = posts[:40] + posts[41:]
    posts.append(await alice.publishes("for few", audience=UNLISTED))
    await world.deliver_all()
    store = services.store
    await PostIndex(store, cap=4, few=2).add(standing)
    profile = keys.author_feed(alice.id)
    assert await store.node(profile).execute("ZREMRANGEBYRANK", profile, 0, 9) == 10
    now_ms = services.clock.now_ms()
    report = await MemoryMeter(store, sample_size=10**9).measure(now_ms)
    weighed = bytes_of(report)
    await SharedKeySampler().update_report(report, services, [post.id for post in posts], now_ms)
    assert len(weighed) == len(SHARED_FAMILIES) - 1, "a profile is whole, or in parts"
    assert bytes_of(report) == weighed


def bytes_of(report: MemoryReport) -> dict[str, tuple[int, int]]:
    """Keys, and bytes, of the families that posts share."""
    found = {name: report.families[name] for name in SHARED_FAMILIES if name in report.families}
    return {name: (family.keys, family.bytes) for name, family in found.items()}
