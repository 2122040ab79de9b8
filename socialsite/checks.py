"""System checks of the site, by id.

    socialsite.E001  a component is placed where it cannot stand        (offline, tag redis)
    socialsite.E002  a server does not answer
    socialsite.E003  a server is older than 7.0
    socialsite.E004  a server may evict data
    socialsite.E005  FOLLOW_PARTITIONS is not the number this store was made with
    socialsite.E006  shards or a proxy do not stand as the URL says
    socialsite.E007  ARCHIVE_URL names no archive, or psycopg is missing  (offline)
    socialsite.W001  a server keeps its data in memory only
    socialsite.W002  a variable looks like REDIS_<COMPONENT>_URL and places nothing (offline, tag redis)

`manage.py check` stays offline; `manage.py check --tag redis` connects.
"""

import asyncio
import contextvars
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from socialsite import settings_parsers as environment
from socialsite.migration.store_factory import open_store
from socialsite.store import Node, Store, StoreError, StoreUnavailable, StoreUrls
from socialsite.store.replies import parse_info
from timelines.archive.factory import create_archive
from timelines.posts.archive import InvalidArchiveUrl

may_connect = contextvars.ContextVar("may_connect", default=False)
"""Set by the `check` command when the redis tag was asked for by name (management/commands/check.py)."""
MIN_REDIS_VERSION = (7, 0)
URL_SCHEMES = (
    "embedded", "redis", "rediss", "unix",
    "redis+sentinel", "redis+shards", "redis+twemproxy", "redis+cluster",
)  # fmt: skip
NOT_BEHIND_TWEMPROXY = ("jobs", "live", "sessions")
"""Streams, pub/sub and the sessions' control messages: Twemproxy closes the connection on them."""
REPLICA_CONFIRMED_COMPONENTS = ("posts", "timelines", "public", "follows")
"""What REQUIRE_REPLICAS has confirmed by WAIT, which Twemproxy does not know."""


@register("redis")
def check_component_urls(**_: Any) -> list[CheckMessage]:
    """Every component on a topology that can carry it. Reads settings only."""
    return [error for name, url in _component_urls().items() if (error := _check_component_url(name, url))]


@register("redis")
def check_variable_names(**_: Any) -> list[CheckMessage]:
    """A misspelt component would stand at REDIS_URL, and nobody would notice."""
    known = ", ".join(environment.COMPONENTS)
    return [
        Warning(f"{name} places no component.", hint=f"The components are {known}.", id="socialsite.W002")
        for name in environment.find_unknown_redis_variables(os.environ)
    ]


@register("archive")
def check_archive(**_: Any) -> list[CheckMessage]:
    """An archive that can be opened. Opens nothing."""
    try:
        create_archive(settings.ARCHIVE_URL)
    except InvalidArchiveUrl as error:
        return [Error(str(error), id="socialsite.E007")]
    return []


@register("redis")
def check_servers(**_: Any) -> list[CheckMessage]:
    """Every server: reachable, new enough, never evicting, durable, made with our number of partitions."""
    if not may_connect.get():
        return []
    placed = {name: url for name, url in settings.REDIS_COMPONENT_URLS.items() if name != "cache"}
    try:
        return asyncio.run(_check_store(StoreUrls(settings.REDIS_URL, placed)))
    except StoreUnavailable as error:
        return [_unreachable_error(str(error))]
    except StoreError as error:  # a URL, a map of shards or a proxy: the error says what to do
        return [Error(str(error), id="socialsite.E006")]


def check_server_info(name: str, info: dict[str, str]) -> list[CheckMessage]:
    """What INFO says against a server."""
    found: list[CheckMessage] = []
    version = info.get("redis_version", "0.0")
    if tuple(map(int, version.split(".")[:2])) < MIN_REDIS_VERSION:
        found.append(Error(f"{name} runs version {version}; 7.0 or newer is needed.", id="socialsite.E003"))
    policy = info.get("maxmemory_policy")
    if policy != "noeviction":
        found.append(
            Error(
                f"{name} may throw data away when its memory is full (maxmemory-policy {policy}).",
                hint="Set `maxmemory-policy noeviction` in redis.conf.",
                id="socialsite.E004",
            )
        )
    if info.get("aof_enabled") != "1":
        found.append(
            Warning(
                f"{name} writes no append-only file: a crash loses what came after the last snapshot.",
                hint="Set `appendonly yes` and `appendfsync everysec` in redis.conf.",
                id="socialsite.W001",
            )
        )
    return found


async def _check_store(urls: StoreUrls) -> list[CheckMessage]:
    store = await open_store(urls)
    try:
        found = [message for node in store.nodes for message in await _check_node(node)]
        return found or await _check_partitions(store)
    finally:
        await store.close()


async def _check_node(node: Node) -> Sequence[CheckMessage]:
    try:
        replies = await node.pipeline([("INFO", part) for part in ("server", "memory", "persistence")])
    except StoreError as error:
        return [_unreachable_error(f"{node.address}: {error}")]
    return check_server_info(str(node.address), parse_info(b"\r\n".join(replies)))


async def _check_partitions(store: Store) -> list[CheckMessage]:
    from socialsite.startup import partitions_key  # the composition root knows every app; this module loads early

    key = partitions_key()
    held = await store.node(key).execute("GET", key)
    if held is None or int(held) == settings.FOLLOW_PARTITIONS:
        return []
    return [
        Error(
            f"FOLLOW_PARTITIONS is {settings.FOLLOW_PARTITIONS}, and this store was made with {int(held)}.",
            hint="Put the old number back; `manage.py repartition --follow-partitions N` makes it another.",
            id="socialsite.E005",
        )
    ]


def _component_urls() -> dict[str, str]:
    """URL by component; "" stands for all that have none of their own."""
    return {"": settings.REDIS_URL, **settings.REDIS_COMPONENT_URLS}


def _check_component_url(component: str, url: str) -> CheckMessage | None:
    name = f"REDIS_{component.upper()}_URL" if component else "REDIS_URL"
    scheme = urlsplit(url).scheme
    if scheme not in URL_SCHEMES:
        return Error(
            f'{name}: "{scheme}://" names no topology.',
            hint=f"Use one of {', '.join(f'{known}://' for known in URL_SCHEMES)}.",
            id="socialsite.E001",
        )
    if scheme != "redis+twemproxy":
        return None
    cannot = NOT_BEHIND_TWEMPROXY + (REPLICA_CONFIRMED_COMPONENTS if settings.REQUIRE_REPLICAS else ())
    behind = [each for each in cannot if each == component or (not component and each not in _component_urls())]
    if not behind:
        return None
    return Error(
        f"{name} puts {', '.join(behind)} behind Twemproxy, which cannot carry them.",
        hint=f"Set {', '.join(f'REDIS_{each.upper()}_URL' for each in behind)} to a server of their own.",
        id="socialsite.E001",
    )


def _unreachable_error(reason: str) -> Error:
    return Error(f"Redis does not answer: {reason}", id="socialsite.E002")
