"""The settings of the site, from a copy of the process that is at most one second old.

The copy is refreshed outside of requests (Redis in Action, section 5.4.2: configuration that is cached for a second).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog

from socialsite.errors import Conflict, Unavailable
from socialsite.site.repository import SiteRepository
from socialsite.site.settings import UNKNOWN_SETTINGS, SiteSettings, apply_changes
from socialsite.store.errors import StoreError

REFRESH_INTERVAL_S = 1.0
CHANGE_ATTEMPTS = 10
log = structlog.stdlib.get_logger("socialsite.site")


@dataclass(kw_only=True, slots=True)
class SiteService:
    """Reads and changes the settings. Fields of `site_environment` cannot be changed."""

    site_repository: SiteRepository
    site_environment: Mapping[str, Any]
    settings: SiteSettings = field(init=False)
    """The newest copy of this process. The environment wins over stored values."""
    listeners: set[Callable[[], None]] = field(default_factory=set, init=False)
    """Functions that are called after the settings changed."""
    _stored: bytes | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.settings = self._with_environment(UNKNOWN_SETTINGS)

    @property
    def from_environment(self) -> frozenset[str]:
        """The names of the fields that the environment sets."""
        return frozenset(self.site_environment)

    async def refresh(self) -> None:
        """Read the stored settings. If the store does not answer, the last copy stays."""
        try:
            self._use(await self.site_repository.load())
        except (StoreError, msgspec.MsgspecError) as error:
            log.warning("site_settings_not_read", reason=type(error).__name__)

    async def refresh_forever(self) -> None:
        """Refresh until cancelled."""
        while True:
            await asyncio.sleep(REFRESH_INTERVAL_S)
            await self.refresh()

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raise Invalid if `change` would."""
        apply_changes(self.settings, fields)

    async def change(self, **fields: Any) -> SiteSettings:
        """Store new values of some fields, and return all settings. Other processes use them within a second.

        Raises Invalid, and Conflict if the environment sets one of the fields.
        """
        if self.from_environment & fields.keys():
            raise Conflict
        for _attempt in range(CHANGE_ATTEMPTS):  # another member of staff may change other fields at the same time
            stored = await self.site_repository.load()
            changed = msgspec.json.encode(apply_changes(_decode(stored), fields))
            if await self.site_repository.replace(stored, changed):
                self._use(changed)
                return self.settings
        raise Unavailable

    def _use(self, stored: bytes) -> None:
        if stored != self._stored:
            self.settings = self._with_environment(_decode(stored))
            self._stored = stored
            for listener in tuple(self.listeners):
                listener()

    def _with_environment(self, settings: SiteSettings) -> SiteSettings:
        return apply_changes(settings, self.site_environment)


def _decode(stored: bytes) -> SiteSettings:
    return msgspec.json.decode(stored, type=SiteSettings) if stored else SiteSettings()
