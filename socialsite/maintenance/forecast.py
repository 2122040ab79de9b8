"""How many more posts fit, and how long that lasts at the present rate. Arithmetic only.

Bytes of a post: what the families that grow with posts take now, by the number of posts, and what the server
does not count when it weighs a key. Capped caches grow along until they are full. A server's table of keys
grows by doubling, a step of several per cent just when it happens, so it is reckoned with.
"""

import re
from dataclasses import dataclass

from socialsite.maintenance.memory import POST_FAMILY, MemoryReport

GROWING_FAMILIES = re.compile(
    r"posts:\{(N|hex|aN)\}:.*|timelines:\{q?N\}:profile|timelines:\{hex\}:tag"
    r"|search:\{sN\}:(term|rare|tags)"  # its names grow with accounts
    r"|timelines:\{N\}:(liked|boosted|bookmarks|notifications)"  # as often as there is something to like
)
CAPPED_FAMILIES = re.compile(r"timelines:\{N\}:home|timelines:\{lN\}:posts")
BUCKET_BYTES = 8
UNCOUNTED_KEY_BYTES = 8
"""MEMORY USAGE takes a key's entry in the table for 24 bytes; it has 32 (Redis 7.0, measured)."""
MAX_POSTS = 1 << 40


@dataclass(frozen=True, slots=True)
class TimelineCaps:
    """Entries of a full home or list timeline, and bytes an entry takes (measured)."""

    entries: int
    bytes_per_entry: float = 10.5


@dataclass(frozen=True, slots=True)
class Forecast:
    """`posts_left` until less than the reserve is free; None without maxmemory, or without posts."""

    bytes_a_post: float
    posts_left: int | None
    days_left: float | None


def make_forecast(report: MemoryReport, caps: TimelineCaps, reserve: int) -> Forecast:
    posts = report.families[POST_FAMILY].keys if POST_FAMILY in report.families else 0
    if not posts:
        return Forecast(0.0, None, None)
    growth = _Growth.of(report, caps, posts)
    if not all(node.most for node in report.nodes):
        return Forecast(growth.bytes_per_post, None, None)
    # The fullest node ends it for all: posts are spread evenly, so what it has left counts for each.
    left = min(node.most - reserve - node.used for node in report.nodes) * len(report.nodes)
    fit = growth.posts_that_fit(left)
    rate = report.posts_per_day()
    return Forecast(growth.bytes_per_post, fit, fit / rate if rate else None)


@dataclass(frozen=True, slots=True)
class _Growth:
    """What n more posts take."""

    bytes_per_post: float
    keys_per_post: float
    cached_bytes_per_post: float
    cache_bytes_left: float
    keys_per_node: float
    nodes: int

    @classmethod
    def of(cls, report: MemoryReport, caps: TimelineCaps, posts: int) -> "_Growth":
        families = report.families.items()
        keys = sum(node.keys for node in report.nodes)
        grown = [family for name, family in families if GROWING_FAMILIES.fullmatch(name)]
        cached = [family for name, family in families if CAPPED_FAMILIES.fullmatch(name)]
        full = sum(family.keys for family in cached) * caps.entries * caps.bytes_per_entry
        taken = sum(family.bytes for family in cached)
        return cls(
            bytes_per_post=sum(f.bytes + UNCOUNTED_KEY_BYTES * f.keys for f in grown) / posts,
            keys_per_post=sum(f.keys for n, f in families if n.startswith("posts:")) / posts,
            cached_bytes_per_post=taken / posts,
            cache_bytes_left=max(0.0, full - taken),
            keys_per_node=keys / len(report.nodes),
            nodes=len(report.nodes),
        )

    def bytes_for_posts(self, posts: int) -> float:
        after = self.keys_per_node + posts * self.keys_per_post / self.nodes
        tables = self.nodes * (key_table_bytes(after) - key_table_bytes(self.keys_per_node))
        return posts * self.bytes_per_post + min(self.cache_bytes_left, posts * self.cached_bytes_per_post) + tables

    def posts_that_fit(self, room: float) -> int:
        """The most posts whose bytes fit."""
        if room <= 0:
            return 0
        low, high = 0, MAX_POSTS
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.bytes_for_posts(middle) <= room else (low, middle - 1)
        return low


def key_table_bytes(keys: float) -> int:
    """A server's table of its keys: a power of two of buckets, at least as many as keys."""
    return BUCKET_BYTES << max(2, (max(1, round(keys)) - 1).bit_length())
