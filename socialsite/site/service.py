"""The settings and announcements of the site, from a copy of the process that is at most one second old.

The copy is refreshed outside of requests (Redis in Action, section 5.4.2: configuration that is cached for a second).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import msgspec
import structlog

from socialsite import keys
from socialsite.errors import Unavailable
from socialsite.service import Service
from socialsite.site.announcements import Announcements, add
from socialsite.site.repository import SiteRepository
from socialsite.site.rules import DEFAULT_RULES
from socialsite.site.settings import TEXTS, UNKNOWN_SETTINGS, SetByEnvironment, SiteSettings, apply_changes
from socialsite.store import Key
from socialsite.store.errors import StoreError

REFRESH_INTERVAL_S = 1.0
CHANGE_ATTEMPTS = 10
log = structlog.stdlib.get_logger("socialsite.site")


class SiteService(Service):
    """Reads and changes the settings. Fields of `site_environment` cannot be changed."""

    site_repository: SiteRepository
    site_environment: Mapping[str, Any]
    settings: SiteSettings = field(init=False)
    """The newest copy of this process. The environment wins over stored values."""
    announcements: Announcements = field(default=(), init=False)
    """The newest copy of this process, also of announcements that begin later."""
    listeners: set[Callable[[], None]] = field(default_factory=set, init=False)
    """Functions that are called after the settings changed."""
    _stored: tuple[bytes, bytes] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.settings = self._with_environment(UNKNOWN_SETTINGS)

    @property
    def from_environment(self) -> frozenset[str]:
        """The names of the fields that the environment sets."""
        return frozenset(self.site_environment)

    @property
    def is_read(self) -> bool:
        """Whether this process has read the settings."""
        return self._stored is not None

    async def refresh(self) -> None:
        """Read what is stored. If the store does not answer, the last copy stays."""
        try:
            stored = await self.site_repository.load()
            if stored == self._stored:
                return
            settings, self.announcements = _decode_settings(stored[0]), _decode_announcements(stored[1])
            self.settings, self._stored = self._with_environment(settings), stored
        except (StoreError, msgspec.MsgspecError) as error:
            log.warning("site_settings_not_read", reason=type(error).__name__)
            return
        for listener in tuple(self.listeners):
            listener()

    def check(self, fields: Mapping[str, Any]) -> None:
        """Raise Invalid or SetByEnvironment if `change` would raise it."""
        if self.from_environment & fields.keys():
            raise SetByEnvironment
        _edit(self.settings, fields)

    async def change(self, **fields: Any) -> SiteSettings:
        """Store new values of some fields, and return all settings. Other processes use them within a second.

        A function as value gets the stored value and returns the new one. Raises Invalid, and SetByEnvironment if the
        environment sets one of the fields.
        """
        if self.from_environment & fields.keys():
            raise SetByEnvironment
        await self._replace(keys.settings(), lambda stored: _edit(_decode_settings(stored), fields))
        return self.settings

    async def announce(self, text: str, *, starts_ms: int, ends_ms: int, now_ms: int) -> None:
        """Store an announcement. Raises Invalid, and Conflict if there are too many."""
        await self._replace(
            keys.announcements(), lambda stored: add(_decode_announcements(stored), text, starts_ms, ends_ms, now_ms)
        )

    async def remove_announcement(self, announcement_id: int) -> None:
        """Remove an announcement. A repetition changes nothing."""
        await self._replace(
            keys.announcements(),
            lambda stored: tuple(each for each in _decode_announcements(stored) if each.id != announcement_id),
        )

    async def _replace(self, key: Key, change: Callable[[bytes], object]) -> None:
        """Replace the stored value by the result of `change`. Repeat it if another process changed the value
        meanwhile."""
        for _attempt in range(CHANGE_ATTEMPTS):
            settings, announcements = await self.site_repository.load()
            stored = settings if key == keys.settings() else announcements
            if await self.site_repository.replace(key, stored, msgspec.json.encode(change(stored))):
                await self.refresh()
                return
        raise Unavailable

    def _with_environment(self, settings: SiteSettings) -> SiteSettings:
        return apply_changes(settings, self.site_environment)


def _edit(settings: SiteSettings, fields: Mapping[str, Any]) -> SiteSettings:
    pairs = fields.items()
    changed = apply_changes(settings, {k: v(getattr(settings, k)) if callable(v) else v for k, v in pairs})
    names = [name for name in TEXTS if getattr(changed, name) != getattr(settings, name)]
    return msgspec.structs.replace(changed, **{f"{name}_ms": time.time_ns() // 1_000_000 for name in names})


def _decode_settings(stored: bytes) -> SiteSettings:
    """Return the stored settings. A site whose settings were never changed has the default rules."""
    return msgspec.json.decode(stored, type=SiteSettings) if stored else SiteSettings(rules=DEFAULT_RULES)


def _decode_announcements(stored: bytes) -> Announcements:
    return msgspec.json.decode(stored, type=Announcements) if stored else ()
