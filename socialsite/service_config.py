"""The settings of the services in one object, so that tests can pass smaller caps."""

from dataclasses import dataclass, field, fields
from typing import Any, Self

from django.conf import settings

from socialsite.clock import DAY_MS

PULL_GRACE_MS = 15_000


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Caps, sizes and limits. `socialsite.settings` documents them."""

    post_max_length: int = 500
    poll_max_options: int = 4
    home_cap: int = 1000
    home_ttl_ms: int = 30 * DAY_MS
    read_ahead: int = 25
    profile_cap: int = 200_000
    public_cap: int = 1000
    list_cap: int = 1000
    list_members_cap: int = 1000
    following_cap: int = 5000
    new_hashtags_per_day: int = 100
    posts_per_day: int = 1000
    bytes_per_day: int = 8 << 20
    import_bytes_per_day: int = 256 << 20
    site_bytes_per_day: int = 1 << 30
    posts_per_pass: int = 1000
    time_slice_ms: int = 20
    pull_threshold: int = 0
    pull_grace_ms: int = PULL_GRACE_MS
    follow_partitions: int = 16
    profile_partitions: int = 1
    require_replicas: int = 0
    memory_reserve: int = 16 * 1024 * 1024
    archive_url: str = ""
    media_account_quota: int = 0
    media_site_quota: int = 0
    archive_keep_ms: int = 7 * DAY_MS
    deletion_grace_ms: int = 0
    link_previews: bool = True
    push_enabled: bool = True
    vapid_private_key: str = ""
    site_url: str = ""
    rate_limits: dict[str, int | None] = field(default_factory=dict)
    site_environment: dict[str, Any] = field(default_factory=dict)

    @property
    def immutable_settings(self) -> dict[str, int]:
        """Return the settings that never change after the first start of a store, because its keys depend on them."""
        return {"FOLLOW_PARTITIONS": self.follow_partitions, "PROFILE_PARTITIONS": self.profile_partitions}

    @classmethod
    def from_settings(cls) -> Self:
        """Read the settings that have the names of the fields, and those with another name or unit."""
        names = [each.name for each in fields(cls)]
        values = {name: getattr(settings, name.upper()) for name in names if hasattr(settings, name.upper())}
        return cls(
            **values,
            home_ttl_ms=settings.HOME_TTL_DAYS * DAY_MS,
            deletion_grace_ms=settings.DELETION_GRACE_DAYS * DAY_MS,
            archive_keep_ms=settings.ARCHIVE_KEEP_DAYS * DAY_MS,
            push_enabled=settings.PUSH,
        )
