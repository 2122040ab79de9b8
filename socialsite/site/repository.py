"""Stores the settings of the site in one key."""

from socialsite.store import Key, Store, load_script

REPLACE_SCRIPT = load_script("replace_value.lua", __package__)


def settings_key() -> Key:
    """STRING: the SiteSettings as JSON. It never expires."""
    return Key("accounts", tag="site", name="settings")


class SiteRepository:
    def __init__(self, store: Store) -> None:
        self._accounts = store.component("accounts")

    async def load(self) -> bytes:
        """Return the stored settings, or b"" if none were stored."""
        key = settings_key()
        return await self._accounts[key].execute("GET", key) or b""

    async def replace(self, stored: bytes, changed: bytes) -> bool:
        """Store the settings if the stored ones are still those that the caller read. Return whether they were."""
        key = settings_key()
        (replaced,) = await self._accounts.write(key, REPLACE_SCRIPT.command([key], [stored, changed]))
        return bool(replaced)
