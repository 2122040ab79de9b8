"""Stores the settings of the site and its announcements in two keys, which are read together."""

from socialsite.store import Key, Store, load_script

REPLACE_SCRIPT = load_script("replace_value.lua", __package__)


def settings_key() -> Key:
    """STRING: the SiteSettings as JSON. It never expires."""
    return Key("accounts", tag="site", name="settings")


def announcements_key() -> Key:
    """STRING: the Announcements as JSON, at most ANNOUNCEMENTS_CAP. It never expires."""
    return Key("accounts", tag="site", name="announcements")


class SiteRepository:
    def __init__(self, store: Store) -> None:
        self._accounts = store.component("accounts")

    async def load(self) -> tuple[bytes, bytes]:
        """Return the stored settings and announcements, each b"" if absent."""
        key = settings_key()
        settings, announcements = await self._accounts[key].execute_all([("GET", key), ("GET", announcements_key())])
        return settings or b"", announcements or b""

    async def replace(self, key: Key, stored: bytes, changed: bytes) -> bool:
        """Store a value if the stored one is still the one that the caller read. Return whether it was."""
        replaced = await self._accounts.write(*REPLACE_SCRIPT.command([key], [stored, changed]))
        return bool(replaced)
