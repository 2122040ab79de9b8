"""Reads the boosters of a post from the sorted set `posts:{<original>}:boosts`.

The member is an account, and the score is the id of its boost.
"""

from collections.abc import Sequence

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, id_at, ms_from_id
from socialsite.store import Command, Read
from timelines import keys

RemovedBoost = tuple[PostId, PostId]
"""The ids of a deleted boost and its original."""
LaterBoosts = list[tuple[AccountId, PostId]]
"""The accounts that boosted the same post later, with the ids of their boosts, the oldest first."""
MAX_EARLIER_BOOSTS = 50
"""The maximum number of earlier boosts that may hide a boost."""


def read_earlier_boosters(boosts: Sequence[tuple[PostId, PostId]]) -> Read[dict[PostId, list[AccountId]]]:
    """Read, for each (original, boost), the accounts that boosted the original within 24 hours before.

    At most 50 accounts are read for each boost. The latest booster is first.
    """
    return Read(
        [_earlier_command(original, boost) for original, boost in boosts],
        lambda replies: {
            boost: [AccountId(int(member)) for member in reply]
            for (_, boost), reply in zip(boosts, replies, strict=True)
        },
        wrong_type_reply=[],
    )


def read_later_boosts(original: PostId, boost: PostId) -> Read[LaterBoosts]:
    """Read the boosts directly after `boost`, the oldest first. These boosts may be hidden by `boost`.

    This is the inverse of `read_earlier_boosters`. `boost` may be deleted.
    """
    beyond = id_at(ms_from_id(boost) + DAY_MS + 1)
    window = f"({boost}", f"({beyond}", "WITHSCORES", "LIMIT", 0, MAX_EARLIER_BOOSTS
    return Read([("ZRANGEBYSCORE", keys.boosts(original), *window)], lambda replies: _parse_boosts(replies[0]))


def _parse_boosts(members: Sequence[bytes]) -> LaterBoosts:
    """Parse (account, score, account, score, ...). A score is below 2^53 and may have an exponent."""
    pairs = zip(members[::2], members[1::2], strict=True)
    return [(AccountId(int(account)), PostId(int(float(at)))) for account, at in pairs]


def _earlier_command(original: PostId, boost: PostId) -> Command:
    oldest = id_at(max(ms_from_id(original), ms_from_id(boost) - DAY_MS))
    return ("ZREVRANGEBYSCORE", keys.boosts(original), f"({boost}", oldest, "LIMIT", 0, MAX_EARLIER_BOOSTS)
