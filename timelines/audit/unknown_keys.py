"""Reports keys on the site's servers that do not belong to the site, and deletes them on request.

Servers can be shared, so these keys may belong to another application. Some keys have names like keys of the site, but
belong to no family of this release. They are reported and never deleted, because another release may need them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from socialsite.maintenance.key_families import is_known, is_of_site_component
from socialsite.store import Key, Node

MAX_NAMES = 20
DJANGO_CACHE_PREFIX = b"cache:"
"""The prefix of the keys of Django's cache (KEY_PREFIX in CACHES), which may be on the same servers."""


@dataclass(slots=True)
class ForeignKeys:
    """Counts keys that this release does not know.

    `count` is the number of keys of other applications, and `unknown` the number of keys of unknown families. `names`
    has the first keys of both kinds.
    """

    drop: bool = False
    count: int = 0
    unknown: int = 0
    dropped: int = 0
    names: list[str] = field(default_factory=list)

    async def filter(self, node: Node, raw_keys: Sequence[bytes]) -> list[Key]:
        """Return the keys of the site. Count the foreign keys, and delete them if `drop` is true."""
        own: list[Key] = []
        foreign: list[bytes] = []
        for raw_key in raw_keys:
            if raw_key.startswith(DJANGO_CACHE_PREFIX):
                continue
            try:
                key = Key.parse(raw_key.decode())
            except ValueError:  # UnicodeDecodeError is a subclass
                foreign.append(raw_key)
                continue
            if is_known(key):
                own.append(key)
            elif is_of_site_component(key):
                self.unknown += 1
                self._add_name(raw_key)
            else:
                foreign.append(raw_key)
        self.count += len(foreign)
        for raw_key in foreign:
            self._add_name(raw_key)
        if self.drop and foreign:
            self.dropped += sum(await node.execute_all([("UNLINK", raw_key) for raw_key in foreign]))
        return own

    def _add_name(self, raw_key: bytes) -> None:
        if len(self.names) < MAX_NAMES:
            self.names.append(raw_key.decode(errors="backslashreplace")[:100])
