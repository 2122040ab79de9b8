"""Compare the keys of a server with the declarations of the key families."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import redis

import socialsite.asgi  # noqa: F401 - imports the modules of all families
from socialsite.store.key import KEY_PATTERN
from socialsite.store.key_families import FAMILIES, KeyFamily, find_family

UNSTORED = frozenset({"any", "none", "channel"})
USUAL_FAMILIES = [each for each in FAMILIES.values() if not each.condition and each.redis_type not in UNSTORED]
"""The families that every used site has."""


@dataclass
class KeyWatch:
    """Compares the keys of a server with the families; `wrong` are sentences about violations."""

    client: "redis.Redis"
    families: Sequence[KeyFamily]
    met: set[KeyFamily] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def scan(self) -> None:
        for raw in self.client.scan_iter(count=1000):
            key = raw.decode()
            with self.client.pipeline() as asking:
                asking.type(key)
                asking.pttl(key)
                kind, ttl_ms = asking.execute()
            if ttl_ms != -2:  # -2: the key was deleted meanwhile
                self._check(key, kind.decode(), ttl_ms)

    def _check(self, key: str, kind: str, ttl_ms: int) -> None:
        if not KEY_PATTERN.fullmatch(key):
            self.wrong.append(f"{key} is outside the grammar")
        family = find_family(key)
        if family is None:
            self.wrong.append(f"{key} has no declaration")
            return
        self.met.add(family)
        if family not in self.families:
            self.wrong.append(f"{key} exists only if {family.condition}")
        elif kind != family.redis_type:
            self.wrong.append(f"{key} is a {kind}, its declaration says {family.redis_type}")
        elif not matches_lifetime(family.lifetime, ttl_ms):
            self.wrong.append(f"{key} has {ttl_ms} ms to live, its declaration says {family.lifetime}")

    @property
    def unmet(self) -> list[str]:
        return [family.pattern for family in self.families if family not in self.met]


def matches_lifetime(lifetime: str, ttl_ms: int) -> bool:
    """Return whether the time to live fits the lifetime. `none` means no expiry; exceptions follow a semicolon."""
    usual, _, exceptions = lifetime.partition(";")
    if usual == "none":
        return ttl_ms == -1 or bool(re.search(r"\d", exceptions))
    return ttl_ms > 0
