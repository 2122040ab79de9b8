"""Memory that posts use in shared keys, estimated from random posts on every topology."""

import io
import json
import random
from datetime import UTC, datetime
from pathlib import Path

from socialsite.admin.memory import MemoryMonitor
from socialsite.admin.memory_shared import SHARED_FAMILIES, SharedKeySampler
from socialsite.container import Services
from socialsite.maintenance.memory import MemoryMeter, MemoryReport, make_forecast
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
    """Import posts: half by the first account, with words of very different frequency."""
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


async def test_a_sample_estimates_a_family_with_one_dominating_key(services: Services, tmp_path: Path) -> None:
    """Few samples contain the key that has half of the bytes; its weight is high in those samples."""
    await import_posts_mostly_of_one(services, tmp_path)
    for _ in range(3):
        look = await MemoryMonitor(2_000).take_snapshot(services)
        whole = await MemoryMeter(services.store, sample_size=10**9).measure(services.clock.now_ms())
        assert look.is_sampled
        estimate, right = (report.families["timelines:{N}:profile"].bytes for report in (look.report, whole))
        assert abs(estimate - right) < 0.25 * right, f"{estimate} bytes of profiles were told, {right} stand"
        expected = make_forecast(whole, services.config.home_cap, 0).bytes_a_post
        assert abs(look.forecast.bytes_a_post - expected) < 0.15 * expected


async def test_the_shares_of_all_posts_sum_to_the_size_of_the_keys(services: Services, world: World) -> None:
    """This includes posts above caps, deleted posts and posts that visitors cannot find."""
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
    """Return the number of keys and bytes of each family that posts share."""
    families = {name: report.families[name] for name in SHARED_FAMILIES if name in report.families}
    return {name: (family.keys, family.bytes) for name, family in families.items()}
