"""The declarations of key families. Each key of the site is built from one (docs/reference/keys.md lists them).

Backup, restore, audit, trim, memory and the purge of accounts read these declarations.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache, lru_cache
from inspect import unwrap
from typing import TypedDict, Unpack

from socialsite.store.components import COMPONENTS
from socialsite.store.key import Key


class Role(Enum):
    SOURCE = "source"
    """It cannot be rebuilt."""
    DERIVED = "derived"
    """It is counted or computed, and is in backups."""
    CACHE = "cache"
    """It may be deleted at any moment. Readers, workers or a command rebuild it."""
    TEMPORARY = "temporary"
    """It is short-lived, or belongs to running processes."""
    INSTALLATION = "installation"
    """It belongs to the servers. A restore leaves it there."""


SOURCE, DERIVED, CACHE, TEMPORARY, INSTALLATION = Role


class BackupPass(IntEnum):
    """Passes of a backup. References are read before the values that they refer to.

    If a value is deleted between these reads, the backup has only references to it, which the audit removes. So no
    deleted value is restored.
    """

    REFERENCES = 0
    BODIES = 1
    ACCOUNTS = 2


class Facts(TypedDict, total=False):
    """The facts of a declaration that have a default."""

    role: Role
    cap: int | str
    lifetime: str
    plain_name: str
    mirror: str
    backup_pass: BackupPass
    in_backups: bool
    grows: bool
    trimmed_as: str
    purged_apart: bool
    deleted_with_post: bool
    condition: str


@dataclass(frozen=True, slots=True, eq=False)
class KeyFamily:
    """The declaration of all keys of one builder. The placeholders of `pattern` are the arguments of the builder.

    `text` describes the value. `cap` is a number, or the name of a setting or constant. `lifetime` is "none" if the
    keys do not expire. `plain_name` explains a stored word. `mirror` is the pattern of the other side of a relation.
    """

    pattern: str
    redis_type: str
    text: str
    build: Callable[..., Key]
    role: Role = SOURCE
    cap: int | str = ""
    lifetime: str = "none"
    plain_name: str = ""
    mirror: str = ""
    backup_pass: BackupPass = BackupPass.REFERENCES
    in_backups: bool = False
    """A cache that is in backups all the same."""
    grows: bool = False
    """Each new post takes memory here."""
    trimmed_as: str = ""
    """The name of the entries above the cap that `manage.py trim` removes."""
    purged_apart: bool = False
    """The deletion of an account has a step for this key. The other private keys are deleted together."""
    deleted_with_post: bool = False
    """The script that deletes a post deletes this key of the post."""
    condition: str = ""
    """The sites that have these keys, if not every used site has them."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        return tuple(_PLACEHOLDER.findall(self.pattern))

    @property
    def component(self) -> str:
        return self.pattern.partition(":")[0]

    @property
    def owner(self) -> str:
        """The account, post, list or app that the keys belong to and whose id they contain, else the site."""
        if self.role is not TEMPORARY:
            for name, owner in _OWNERS.items():
                if name in self.placeholders:
                    return owner
        return "site"

    @property
    def is_backed_up(self) -> bool:
        return self.role in (SOURCE, DERIVED) or self.in_backups

    @property
    def template(self) -> str:
        """The pattern as a template of the operator %."""
        return _make_template(self.pattern)

    @property
    def is_cached_timeline(self) -> bool:
        return self.role is CACHE and self.redis_type == "list"

    @property
    def regex(self) -> str:
        parts = _PLACEHOLDER.split(self.pattern)
        return "".join(f"(?:{_WORDS.get(part, _NUMBER)})" if n % 2 else re.escape(part) for n, part in enumerate(parts))

    @property
    def example(self) -> Key:
        return self.build(*(_EXAMPLES.get(name, 7) for name in self.placeholders))


_PLACEHOLDER = re.compile(r"<([a-z]+)>")
_NUMBER = "[0-9]+"
_OWNERS = {"account": "account", "owner": "account or app", "post": "post", "list": "list"}
_WORD = "[a-z]+"
_WORDS = {
    "bucket": "b[0-9]+", "caller": "a[0-9]+|[0-9a-f]{8,}", "component": _WORD, "hex": "[0-9a-f]+", "kind": _WORD,
    "language": _WORD, "mark": "[a-z][0-9]+", "name": "[0-9a-z:]+", "owner": "[0-9]{1,16}|[0-9a-f]{32}",
    "partition": "[a-z][0-9]+", "queue": _WORD, "rule": "[a-z]+[0-9]*", "sender": "[0-9]+", "tag": "[0-9a-z]+",
}  # fmt: skip
"""Patterns of the placeholders for text. All other placeholders are numbers."""
_EXAMPLES = dict.fromkeys(_WORDS, "posts") | {
    "bucket": "b7", "caller": "a7", "hex": "0a" * 16, "mark": "m7", "owner": 7, "partition": "p7", "queue": "outbox",
    "sender": "7",
}  # fmt: skip

FAMILIES: dict[str, KeyFamily] = {}
"""The families of all imported modules, by pattern."""
_BY_BUILDER: dict[Callable[..., Key], KeyFamily] = {}


def key_family(pattern: str, redis_type: str, text: str, **facts: Unpack[Facts]) -> Callable[..., Key]:
    """Declare a family, and return the builder of its keys. Raises ValueError if the pattern has a family."""
    if pattern in FAMILIES:
        raise ValueError(f"declared twice: {pattern}")
    build = _make_builder(pattern)
    FAMILIES[pattern] = _BY_BUILDER[build] = KeyFamily(pattern, redis_type, text, build, **facts)
    _clear_caches()
    return build


def key_by_id(pattern: str, redis_type: str, text: str, **facts: Unpack[Facts]) -> Callable[[int], Key]:
    """Declare a family of keys that contain one number."""
    return key_family(pattern, redis_type, text, **facts)


def key_by_word(pattern: str, redis_type: str, text: str, **facts: Unpack[Facts]) -> Callable[[str], Key]:
    """Declare a family of keys that contain one digest or word."""
    return key_family(pattern, redis_type, text, **facts)


def single_key(pattern: str, redis_type: str, text: str, **facts: Unpack[Facts]) -> Callable[[], Key]:
    return key_family(pattern, redis_type, text, **facts)


def _make_template(pattern: str) -> str:
    return _PLACEHOLDER.sub(lambda found: "%s" if found[1] in _WORDS else "%d", pattern)


def _make_builder(pattern: str) -> Callable[..., Key]:
    """Return a function that fills the placeholders of a pattern with its arguments."""
    text = _make_template(pattern)
    component, tag = text[: text.index(":")], text[text.index("{") + 1 : text.index("}")]
    new, count, skipped = str.__new__, tag.count("%"), component.count("%")

    def build(*values: object) -> Key:
        key = new(Key, text % values)
        key.component = component % values[:skipped] if skipped else component
        key.tag = tag % values[skipped : skipped + count]
        return key

    def build_by_tag(value: object) -> Key:
        key = new(Key, text % value)
        key.component = component
        key.tag = tag % value
        return key

    if "%" not in text:
        key = build()
        return lambda: key
    return build_by_tag if count == text.count("%") == 1 else build


def family_of(build: Callable[..., Key]) -> KeyFamily:
    """Return the family whose keys a builder makes. Raises KeyError if it is not the builder of a family."""
    return _BY_BUILDER[unwrap(build)]


def list_private_keys(component: str, account_id: int) -> list[Key]:
    """Return the sources of an account to which no other key refers. They are deleted with the account."""
    return [
        family.build(account_id)
        for family in FAMILIES.values()
        if family.component == component and family.placeholders == ("account",)
        if family.role is SOURCE and not family.mirror and not family.purged_apart
    ]


def list_keys_of_post(post_id: int) -> list[Key]:
    """Return the keys that are deleted with a post."""
    return [family.build(post_id) for family in FAMILIES.values() if family.deleted_with_post]


DIGEST_LENGTH = 32
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_DIGEST, _SAMPLE_DIGEST = re.compile(rb"[0-9a-f]{%d,}" % DIGEST_LENGTH), b"0a" * (DIGEST_LENGTH // 2)


def shape_of(raw_key: bytes) -> bytes:
    """Return the key with other digits. Keys that differ only in their ids and digests have few shapes."""
    shape = raw_key.translate(_DIGITS_TO_ZERO)
    return _LONG_DIGEST.sub(_SAMPLE_DIGEST, shape) if len(shape) > DIGEST_LENGTH else shape


def find_family(key: str) -> KeyFamily | None:
    """Return the family of a key or channel, or None if this release has no such family."""
    return _find_family_of_shape(shape_of(key.encode()))


@lru_cache(maxsize=4_096)
def _find_family_of_shape(shape: bytes) -> KeyFamily | None:
    match = _any_pattern().fullmatch(shape.decode(errors="replace"))
    return None if match is None or match.lastgroup is None else list(FAMILIES.values())[int(match.lastgroup[1:])]


@cache
def _any_pattern() -> re.Pattern[str]:
    """Return the pattern of all families, which is ten times as fast as one pattern after the other.

    Raises RuntimeError if the modules that declare the families of a component are not imported: their keys would be
    unknown.
    """
    if missing := {*COMPONENTS}.difference(family.component for family in FAMILIES.values()):
        raise RuntimeError(f"no module with keys of these components is imported: {', '.join(sorted(missing))}")
    return re.compile("|".join(f"(?P<_{n}>{family.regex})" for n, family in enumerate(FAMILIES.values())))


def _clear_caches() -> None:
    _any_pattern.cache_clear()
    _find_family_of_shape.cache_clear()
