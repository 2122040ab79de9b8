"""Families of keys: which are in a backup, in which order they are read, and which are known.

A family that is not named here is backed up, so a backup always contains new sources.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from socialsite.recipes.job_queue import OUTBOX, QUEUE_NAMES
from socialsite.store import Key

NOT_BACKED_UP = re.compile(
    r"timelines:\{\d+\}:home"  # caches, which readers rebuild
    r"|timelines:\{l\d+\}:posts"
    r"|timelines:\{[0-9a-f]{8,}\}:tag"
    r"|public:\{public\}:posts"
    r"|(search|limits|live|cache|map):.*"  # short-lived values, or values of running processes
    r"|jobs:\{[a-z]+\}:worker:[0-9a-f]+"
    rf"|jobs:\{{(?!({'|'.join((*QUEUE_NAMES, 'audit', 'due'))})\}})[a-z]+\}}:.*"  # locks
    r"|(follows|timelines):\{map\}:partitions"  # stored in the header of the backup
    r"|[a-z]+:\{[0-9a-z]+\}:aside:.*"  # quarantine of the audit
)
REFERENCES_PASS, BODIES_PASS, ACCOUNTS_PASS = range(3)
"""Passes of a backup. References are read before the values that they refer to. If a value is deleted between these
reads, the backup has only references to it, which the audit removes. So no deleted value is restored."""
_BODY_KEYS = re.compile(r"posts:\{\d+\}:(post|versions)|timelines:\{l\d+\}:list|timelines:\{ids\}:.*")
_LAST_KEYS = re.compile(r"accounts:\{(\d+\}:account|ids\}:.*)|posts:\{m\d+\}:media")
_DIGEST, _NUMBER = re.compile(r"[0-9a-f]{8,}"), re.compile(r"\d+")
_IDS_OF_NAME = re.compile(r":(\d+|[0-9a-f]{8,})(?=:|$)")
MAX_ID_DIGITS = 16
DIGEST_LENGTH = 32
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_DIGEST, _SAMPLE_DIGEST = re.compile(rb"[0-9a-f]{%d,}" % DIGEST_LENGTH), b"0a" * (DIGEST_LENGTH // 2)
FIRST_KEYS = (Key("jobs", tag=OUTBOX, name="stream"), Key("jobs", tag=OUTBOX, name="dead"))
"""Keys that are read first. A job contains its post, and must not restore a post that is deleted meanwhile."""
QUARANTINE_DAYS = 30
INSTALL_KEYS = re.compile(r"(follows|timelines):\{map\}:partitions|map:.*")
"""Keys that the first start of a site writes. A store with only these keys counts as empty."""


FREE_NAME_COMPONENTS = frozenset({"limits", "series", "search", "cache"})
"""Components whose key names begin with a variable word, such as a rule."""
KNOWN_FIRST_WORDS: Mapping[str, frozenset[str]] = {
    component: frozenset(words.split())
    for component, words in {
        "accounts": "account accounts address announcements applications browsers events factors handle invitations"
        " mail mails network refusals sanctions settings signups staff totals",
        "sessions": "app challenge code index login session token tokens",
        "posts": "boosts checks counts fading folder gone idempotency likes media post preview quotes replies source"
        " tally totals unpreviewed usage versions votes",
        "timelines": "about authors blockers blocks bookmarks boosted by claims closed drafts exclusive filters home"
        " imported liked list lists media mutes notes notifications notified open partitions pins position posts"
        " preferences profile push queue quieted ranks requested requests rows tag tags threads transfers vapid"
        " voted",
        "public": "posts",
        "follows": "followers following listed members partitions",
        "jobs": "appeals backup dead deletions digests drift due fence held lock owed polls posts sanctions state"
        " stream trail turn unfinished used waiting worker",
        "live": "alive hours online",
        "map": "accounts changes fence leases mover partition posts probe record seen shard site stores touched",
    }.items()
}
"""First words of the names of all keys in docs/reference/keys.md, by component. New families must be added here."""
QUARANTINE_WORD = "aside"


def is_known(key: Key) -> bool:
    """Return whether this release knows the family of a key. Another release may know more."""
    word = key.rpartition("}:")[2].partition(":")[0]
    return (
        key.component in FREE_NAME_COMPONENTS
        or word == QUARANTINE_WORD
        or word in KNOWN_FIRST_WORDS.get(key.component, ())
    )


def is_of_site_component(key: Key) -> bool:
    """Return whether a key belongs to a component of the site. Its family may be unknown."""
    return key.component in KNOWN_FIRST_WORDS or key.component in FREE_NAME_COMPONENTS


def is_disposable(key: Key) -> bool:
    """Return whether a key is a cache or a short-lived value, which may be deleted at any time."""
    return not is_backed_up(key) and key.component != "map" and f":{QUARANTINE_WORD}:" not in key and "{map}" not in key


def quarantine_key(key: Key) -> Key:
    """Return the key, under the same tag, to which an audit moves a value of the wrong type for QUARANTINE_DAYS."""
    return Key(key.component, tag=key.tag, name=f"{QUARANTINE_WORD}:{key.rpartition('}:')[2]}")


def is_backed_up(key: Key) -> bool:
    return NOT_BACKED_UP.fullmatch(key) is None


def get_backup_pass(key: str) -> int | None:
    """Return the pass that reads a key, or None if no backup contains it."""
    if NOT_BACKED_UP.fullmatch(key):
        return None
    if _BODY_KEYS.fullmatch(key):
        return BODIES_PASS
    return ACCOUNTS_PASS if _LAST_KEYS.fullmatch(key) else REFERENCES_PASS


class BackupPlace(NamedTuple):
    """The pass of a backup that reads a key, and the family of the key."""

    pass_number: int
    family: str


def find_backup_place(raw_key: bytes) -> BackupPlace | None:
    """Return the pass of a backup that reads a key, or None if no backup contains the key.

    Keys that differ only in their numbers or digests have the same place, so it is looked up once for all of them.
    """
    shape = raw_key.translate(_DIGITS_TO_ZERO)
    return _find_place_of_shape(_LONG_DIGEST.sub(_SAMPLE_DIGEST, shape) if len(shape) > DIGEST_LENGTH else shape)


@lru_cache(maxsize=4_096)
def _find_place_of_shape(shape: bytes) -> BackupPlace | None:
    try:
        key = Key.parse(shape.decode())
    except ValueError:  # UnicodeDecodeError is a subclass
        return None
    pass_number = get_backup_pass(key)
    return None if pass_number is None else BackupPlace(pass_number, get_family(key))


def get_family(key: Key) -> str:
    """Return the family of a key: its words without ids and digests."""
    tag = key.tag
    if not tag.isalpha():
        is_digest = _DIGEST.fullmatch(tag) and not (tag.isdecimal() and len(tag) <= MAX_ID_DIGITS)
        tag = "hex" if is_digest else _NUMBER.sub("N", tag)
    name = _IDS_OF_NAME.sub("", key.rpartition("}")[2])
    return f"{key.component}:{{{tag}}}:{name[1:]}"
