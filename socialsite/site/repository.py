"""Stores the settings of the site and its announcements in two keys, which are read together."""

from socialsite import keys
from socialsite.store import Key, Repository, load_script

REPLACE_SCRIPT = load_script("replace_value.lua", __package__)


class SiteRepository(Repository):
    async def load(self) -> tuple[bytes, bytes]:
        """Return the stored settings and announcements, each b"" if absent."""
        key = keys.settings()
        settings, announcements = await self._accounts[key].execute_all([("GET", key), ("GET", keys.announcements())])
        return settings or b"", announcements or b""

    async def replace(self, key: Key, stored: bytes, changed: bytes) -> bool:
        """Store a value if the stored one is still the one that the caller read. Return whether it was."""
        return bool(await self._accounts.write(*REPLACE_SCRIPT.command([key], [stored, changed])))
