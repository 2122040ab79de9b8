"""Followers with full homes, created quickly: the server copies a few templates."""

import time

from redis import Redis

from socialsite.container import Services
from socialsite.ids import AccountId, PostId, id_at
from timelines import keys
from timelines.graph.follow import Follow

DAY_MS = 86_400_000
BATCH = 500


def old_ids(count: int) -> list[PostId]:
    """Return ids of yesterday, newest first, a few seconds apart."""
    newest = int(time.time() * 1000) - DAY_MS
    return [id_at(newest - 7_000 * n, n * 37) for n in range(count)]


async def followed_author(
    services: Services, followers: int, handle: str = "author"
) -> tuple[AccountId, list[AccountId]]:
    """Create an author with followers; these have only ids and edges, which is all that a pass reads."""
    now_ms = services.clock.now_ms()
    author = (await services.accounts.import_accounts(handles=[handle], now_ms=now_ms))[handle]
    ids = [AccountId(author + 1 + n) for n in range(followers)]
    await services.repositories.follows.add_many(Follow(i, author, now_ms - 60_000 + i % 997) for i in ids)
    return author, ids


def fill_homes(client: Redis, owners: list[AccountId], cap: int) -> None:
    """Fill every home to its cap and a part of the slack, as many earlier posts would have left it.

    A home is trimmed once it is longer than TimelineCacheSpec.max_length: up to twice the slack above its cap.
    """
    slack = max(1, cap // 10)
    ids = old_ids(cap + 2 * slack)
    for more in range(2 * slack):
        client.rpush(f"template:{more}", *ids[: cap + more], -(ids[-1] - 1))
    places = [(owner, (owner * 7919) % (slack + slack * (owner % 10) // 10)) for owner in owners]
    copy_each(client, [(f"template:{more}", keys.home_timeline(owner)) for owner, more in places])
    client.delete(*(f"template:{more}" for more in range(2 * slack)))


def copy_each(client: Redis, pairs: list[tuple[str, str]]) -> None:
    for start in range(0, len(pairs), BATCH):
        pipe = client.pipeline(transaction=False)
        for source, target in pairs[start : start + BATCH]:
            pipe.copy(source, target)
        pipe.execute()
