"""Keys on the site's servers that are none of the site's: told, and deleted only where that is asked for.

They may be anybody's: servers can be shared. Keys that are named as the site's are, but belong to no family
of this release, are told as well and never deleted: another release may need them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from socialsite.maintenance.families import FREE_NAME_COMPONENTS, KNOWN_FIRST_WORDS, is_known
from socialsite.store import Key, Node

NAMED_STRAYS = 20
CACHED = b"cache:"
"""How Django's cache names its keys (KEY_PREFIX of CACHES), where it stands beside the site's."""


@dataclass(slots=True)
class Strays:
    """`names` are the first of all; `unknown` of them are of no family that this release knows."""

    drop: bool = False
    count: int = 0
    unknown: int = 0
    dropped: int = 0
    names: list[str] = field(default_factory=list)

    async def parted(self, node: Node, found: Sequence[bytes]) -> list[Key]:
        """The site's own keys of one step of a walk."""
        own: list[Key] = []
        strays: list[bytes] = []
        for raw in found:
            if raw.startswith(CACHED):
                continue
            try:
                key = Key.parse(raw.decode())
            except ValueError:  # UnicodeDecodeError is one
                strays.append(raw)
                continue
            if is_known(key):
                own.append(key)
            elif key.component in KNOWN_FIRST_WORDS or key.component in FREE_NAME_COMPONENTS:
                self.unknown += 1
                self._name(raw)
            else:
                strays.append(raw)
        await self._tell(node, strays)
        return own

    def _name(self, raw: bytes) -> None:
        if len(self.names) < NAMED_STRAYS:
            self.names.append(raw.decode(errors="backslashreplace")[:100])

    async def _tell(self, node: Node, strays: Sequence[bytes]) -> None:
        self.count += len(strays)
        for raw in strays:
            self._name(raw)
        if self.drop and strays:
            self.dropped += sum(await node.pipeline([("UNLINK", raw) for raw in strays]))
