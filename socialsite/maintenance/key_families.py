"""Which keys a backup contains and in which order it reads them, which keys may be deleted, and which are known.

A family that this release does not declare is backed up, so a backup of a newer site contains its sources.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from socialsite.store import Key
from socialsite.store.key_families import (
    CACHE,
    FAMILIES,
    INSTALLATION,
    TEMPORARY,
    BackupPass,
    find_family,
    key_family,
    shape_of,
)

_DIGEST, _NUMBER = re.compile(r"[0-9a-f]{8,}"), re.compile(r"\d+")
_IDS_OF_NAME = re.compile(r":(\d+|[0-9a-f]{8,})(?=:|$)")
MAX_ID_DIGITS = 16
QUARANTINE_DAYS = 30
_quarantine_key = key_family("<component>:{<tag>}:aside:<name>", "any",
    "a value of a wrong type, moved by `audit --repair` from `<component>:{<tag>}:<name>` ([a key of the wrong"
    " type](../guide/troubleshooting.md#a-key-of-the-wrong-type))", plain_name="quarantine", role=TEMPORARY,
    lifetime="QUARANTINE_DAYS", condition="a value had a wrong type")  # fmt: skip


def quarantine_key(key: Key) -> Key:
    """Return the key, under the same tag, to which an audit moves a value of the wrong type for QUARANTINE_DAYS."""
    return _quarantine_key(key.component, key.tag, key.rpartition("}:")[2])


def is_known(key: Key) -> bool:
    """Return whether this release knows the family of a key. Another release may know more."""
    return find_family(key) is not None


def is_of_site_component(key: Key) -> bool:
    """Return whether a key belongs to a component of the site. Its family may be unknown."""
    return any(family.component == key.component for family in FAMILIES.values())


def is_disposable(key: Key) -> bool:
    """Return whether a key is a cache or a short-lived value, which may be deleted at any time."""
    family = find_family(key)
    return family is not None and family.role in (CACHE, TEMPORARY)


def is_of_installation(key: Key) -> bool:
    """Return whether the servers have the key before they have data. A store with only such keys counts as empty."""
    family = find_family(key)
    return key.component == "map" or (family is not None and family.role is INSTALLATION)


def is_backed_up(key: Key) -> bool:
    return get_backup_pass(key) is not None


def get_backup_pass(key: Key) -> BackupPass | None:
    """Return the pass that reads a key, or None if no backup contains it."""
    family = find_family(key)
    if family is not None:
        return family.backup_pass if family.is_backed_up else None
    has_sources = any(each.is_backed_up for each in FAMILIES.values() if each.component == key.component)
    return BackupPass.REFERENCES if has_sources else None


class BackupPlace(NamedTuple):
    """The pass of a backup that reads a key, and the name of the key's family."""

    backup_pass: BackupPass
    family: str


def find_backup_place(raw_key: bytes) -> BackupPlace | None:
    """Return the pass of a backup that reads a key, or None if no backup contains the key.

    Keys that differ only in their numbers or digests have the same place, so it is looked up once for all of them.
    """
    return _find_place_of_shape(shape_of(raw_key))


@lru_cache(maxsize=4_096)
def _find_place_of_shape(shape: bytes) -> BackupPlace | None:
    try:
        key = Key.parse(shape.decode())
    except ValueError:  # UnicodeDecodeError is a subclass
        return None
    backup_pass = get_backup_pass(key)
    return None if backup_pass is None else BackupPlace(backup_pass, get_family(key))


def get_family(key: Key) -> str:
    """Return the name of a key's family: its words without ids and digests."""
    tag = key.tag
    if not tag.isalpha():
        is_digest = _DIGEST.fullmatch(tag) and not (tag.isdecimal() and len(tag) <= MAX_ID_DIGITS)
        tag = "hex" if is_digest else _NUMBER.sub("N", tag)
    name = _IDS_OF_NAME.sub("", key.rpartition("}")[2])
    return f"{key.component}:{{{tag}}}:{name[1:]}"
