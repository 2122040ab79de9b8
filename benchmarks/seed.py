"""Listings of Redis in Action (chapters 8 and 10), used as references.

Layout: `home:<id>` ZSET status id -> float time, `status:<id>` HASH, `followers:<id>` ZSET id -> float time.
"""

from collections.abc import Sequence
from typing import Any

from redis import Redis
from redis.asyncio import Redis as AsyncRedis

HOME_TIMELINE_SIZE = 1000
POSTS_PER_PASS = 1000


def fill(client: Redis, owners: Sequence[int], followers: str, ids: Sequence[int], first_s: float) -> None:
    """Fill the homes of all owners, who follow one author."""
    template = "template:home"
    client.zadd(template, {f"{id}": first_s + n + 0.123456 for n, id in enumerate(reversed(ids))})
    for start in range(0, len(owners), 500):
        pipe = client.pipeline(transaction=False)
        for owner in owners[start : start + 500]:
            pipe.copy(template, f"home:{owner}")
        pipe.execute()
    client.delete(template)
    client.zadd(followers, {f"{owner}": first_s + n for n, owner in enumerate(owners)})


def syndicate_status(client: Redis, followers: str, status_id: int, at_s: float) -> None:
    """Run listing 10.15 of Redis in Action on one server; the next pass starts directly, without a queue."""
    start: Any = 0
    while True:
        pairs: Any = client.zrangebyscore(followers, start, "inf", start=0, num=POSTS_PER_PASS, withscores=True)
        pipe = client.pipeline(transaction=False)
        for follower, _ in pairs:
            timeline = f"home:{follower.decode()}"
            pipe.zadd(timeline, {str(status_id): at_s})
            pipe.zremrangebyrank(timeline, 0, -HOME_TIMELINE_SIZE - 1)
        pipe.execute()
        if len(pairs) < POSTS_PER_PASS:
            return
        start = f"({pairs[-1][1]}"


async def get_status_messages(client: AsyncRedis, account_id: int, count: int = 30) -> list[dict[bytes, bytes]]:
    """Run listing 8.3 of Redis in Action, with the number of replies of each status, which the page contains."""
    statuses: Any = await client.zrevrange(f"home:{account_id}", 0, count - 1)
    pipe = client.pipeline(transaction=True)
    for status in statuses:
        pipe.hgetall(f"status:{status.decode()}")
    for status in statuses:
        pipe.zcard(f"replies:{status.decode()}")
    replies = await pipe.execute()
    return [status for status in replies[: len(statuses)] if status]
