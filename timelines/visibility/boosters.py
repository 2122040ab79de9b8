"""Boosters of a post, from `posts:{<original>}:boosts`: account -> id of its boost."""

from collections.abc import Sequence

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, id_at, ms_from_id
from socialsite.store import Command, Read
from timelines import keys

RemovedBoost = tuple[PostId, PostId]
"""A deleted boost and its original."""
LaterBoosts = list[tuple[AccountId, PostId]]
"""Accounts that boosted the same post later, with their boosts, the oldest first."""
MAX_EARLIER_BOOSTS = 50
"""Earlier boosts that may hide a boost."""


def read_earlier_boosters(boosts: Sequence[tuple[PostId, PostId]]) -> Read[dict[PostId, list[AccountId]]]:
    """Read for (original, boost) pairs the accounts that boosted before, at most 50 in 24 hours, the last first."""
    return Read(
        [_earlier_command(original, boost) for original, boost in boosts],
        lambda replies: {
            boost: [AccountId(int(member)) for member in reply]
            for (_, boost), reply in zip(boosts, replies, strict=True)
        },
    )


def read_later_boosts(original: PostId, boost: PostId) -> Read[LaterBoosts]:
    """Read the boosts directly after a boost, the oldest first. The boost may have hidden them.

    The boost itself may be deleted. It is the inverse of `read_earlier_boosters`.
    """
    beyond = id_at(ms_from_id(boost) + DAY_MS + 1)
    window = f"({boost}", f"({beyond}", "WITHSCORES", "LIMIT", 0, MAX_EARLIER_BOOSTS
    return Read([("ZRANGEBYSCORE", keys.boosts(original), *window)], lambda replies: _parse_boosts(replies[0]))


def _parse_boosts(members: Sequence[bytes]) -> LaterBoosts:
    """Parse (account, score, account, score, ...). Scores are below 2^53, in any notation of the server."""
    pairs = zip(members[::2], members[1::2], strict=True)
    return [(AccountId(int(account)), PostId(int(float(at)))) for account, at in pairs]


def _earlier_command(original: PostId, boost: PostId) -> Command:
    oldest = id_at(max(ms_from_id(original), ms_from_id(boost) - DAY_MS))
    return ("ZREVRANGEBYSCORE", keys.boosts(original), f"({boost}", oldest, "LIMIT", 0, MAX_EARLIER_BOOSTS)
