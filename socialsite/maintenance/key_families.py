"""Families of keys: what a backup takes and in which order, what is rebuilt or forgotten instead.

A family that nobody has named here is taken: a new source is backed up from its first day.
"""

import re
from collections.abc import Mapping

from socialsite.store import Key

NOT_BACKED_UP = re.compile(
    r"timelines:\{\d+\}:home"  # caches: readers rebuild them
    r"|timelines:\{l\d+\}:posts"
    r"|timelines:\{[0-9a-f]{8,}\}:tag"
    r"|public:\{public\}:posts"
    r"|(search|limits|live|cache|map):.*"  # true for a minute, or of running processes
    r"|jobs:\{[a-z]+\}:worker:[0-9a-f]+"
    r"|jobs:\{(?!outbox|audit)[a-z]+\}:.*"  # locks
    r"|(follows|timelines):\{map\}:partitions"  # the header of a backup says them
    r"|[a-z]+:\{[0-9a-z]+\}:aside:.*"  # what an audit could not read
)
REFERENCES_PASS, BODIES_PASS, ACCOUNTS_PASS = range(3)
"""Passes of a backup. What refers to something is read before what it refers to: so a thing deleted meanwhile
is found missing and its references dropped, never the other way round, which would bring it back to life."""
_BODY_KEYS = re.compile(r"posts:\{\d+\}:post|timelines:\{l\d+\}:list|timelines:\{ids\}:.*")
_ACCOUNT_KEYS = re.compile(r"accounts:\{(\d+\}:account|ids\}:.*)")
FIRST_KEYS = (Key("jobs", tag="outbox", name="stream"), Key("jobs", tag="outbox", name="dead"))
"""Read before everything: a job carries its post, and must not outlive that post's deletion."""
QUARANTINE_DAYS = 30
INSTALL_KEYS = re.compile(r"(follows|timelines):\{map\}:partitions|map:.*")
"""What a store has from its first start: a store with nothing else is empty."""


FREE_NAME_COMPONENTS = frozenset({"limits", "series", "search", "cache"})
"""Components whose names begin with a kind or a rule."""
KNOWN_FIRST_WORDS: Mapping[str, frozenset[str]] = {
    component: frozenset(words.split())
    for component, words in {
        "accounts": "account accounts handle totals",
        "sessions": "index session",
        "posts": "boosts counts fading gone idempotency likes post replies source totals",
        "timelines": "authors blockers blocks bookmarks boosted exclusive filters home liked list lists mutes"
        " notifications notified partitions position posts preferences profile quieted ranks requested"
        " requests tag tags",
        "public": "posts",
        "follows": "followers following listed members partitions",
        "jobs": "dead drift fence lock owed stream trail turn worker",
        "live": "alive hours online",
        "map": "changes leases mover partition probe record seen shard touched",
    }.items()
}
"""First words of the names of all keys in docs/reference/keys.md, by component: new families are entered here, too."""
QUARANTINE_WORD = "aside"


def is_known(key: Key) -> bool:
    """Whether a key is of a family that this release knows; others may be an earlier or a later one's."""
    word = key.rpartition("}:")[2].partition(":")[0]
    return (
        key.component in FREE_NAME_COMPONENTS
        or word == QUARANTINE_WORD
        or word in KNOWN_FIRST_WORDS.get(key.component, ())
    )


def is_of_site_component(key: Key) -> bool:
    """Return whether a key is named like the keys of the site, also if its family is unknown."""
    return key.component in KNOWN_FIRST_WORDS or key.component in FREE_NAME_COMPONENTS


def is_disposable(key: Key) -> bool:
    """A cache, or what is true for a moment: it may be deleted at any time. What was set aside may not."""
    return not is_backed_up(key) and key.component != "map" and f":{QUARANTINE_WORD}:" not in key and "{map}" not in key


def quarantine_key(key: Key) -> Key:
    """Where an audit sets a value aside that is not of its key's type: QUARANTINE_DAYS, under the same tag."""
    return Key(key.component, tag=key.tag, name=f"{QUARANTINE_WORD}:{key.rpartition('}:')[2]}")


def is_backed_up(key: Key) -> bool:
    return NOT_BACKED_UP.fullmatch(key) is None


def get_backup_pass(key: Key) -> int:
    if _BODY_KEYS.fullmatch(key):
        return BODIES_PASS
    return ACCOUNTS_PASS if _ACCOUNT_KEYS.fullmatch(key) else REFERENCES_PASS


def get_family(key: Key) -> str:
    """The kind of a key, for counts: its words, with ids and digests left out."""
    is_digest = re.fullmatch(r"[0-9a-f]{8,}", key.tag) and not re.fullmatch(r"\d{1,16}", key.tag)
    tag = "hex" if is_digest else re.sub(r"\d+", "N", key.tag)
    name = key.rpartition("}:")[2]
    parts = [part for part in name.split(":") if not re.fullmatch(r"\d+|[0-9a-f]{8,}", part)]
    return f"{key.component}:{{{tag}}}:{':'.join(parts)}"
