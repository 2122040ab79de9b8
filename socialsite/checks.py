"""System checks of the site, by id.

    socialsite.E001  a component's URL names a topology that does not support it  (offline, tag redis)
    socialsite.E002  a server does not answer
    socialsite.E003  a server is older than 7.0
    socialsite.E004  a server may evict data
    socialsite.E005  FOLLOW_PARTITIONS is not the number with which this store was created
    socialsite.E006  shards or a proxy do not agree with the URL
    socialsite.E007  ARCHIVE_URL names no archive, or psycopg is missing  (offline)
    socialsite.E008  MEDIA_ROOT is another folder than that of the site's pictures
    socialsite.E009  the archive of ARCHIVE_URL does not answer
    socialsite.W001  a server keeps its data in memory only
    socialsite.W002  a variable looks like REDIS_<COMPONENT>_URL, but the component is unknown  (offline, tag redis)
    socialsite.W003  a failover may lose posts, and REQUIRE_REPLICAS is not set  (offline, tag redis, --deploy)
    socialsite.W004  SECURITY_CONTACT is not set  (offline, tag redis, --deploy)
    socialsite.W005  MAIL_URL is not set, or MAIL_FROM has another domain than the site  (offline, tag mail, --deploy)
    socialsite.W006  a replica of the URL does not answer
    socialsite.W007  translations are not compiled  (offline, tag translation, --deploy)
    socialsite.W008  a server has a version that was not tried

`manage.py check` does not connect to servers; `manage.py check --tag redis` does.
"""

import asyncio
import contextvars
import os
from collections.abc import Sequence
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from socialsite import settings_parsers
from socialsite.migration.store_factory import open_store
from socialsite.store import Node, Store, StoreError, StoreUnavailable, StoreUrls
from socialsite.store.components import REPLICA_CONFIRMED_COMPONENTS
from socialsite.store.replies import MIN_VERSION, NO_EVICTION, TRIED_VERSIONS, parse_info
from socialsite.store.site_marks import find_mark_faults
from socialsite.translations import find_stale_languages
from timelines import keys
from timelines.media.repository import MediaRows
from timelines.media.storage import FOLDER_ID_FILE, MediaFiles
from timelines.post_archive.factory import create_archive
from timelines.posts.post_archive import ArchiveUnavailable, InvalidArchiveUrl, PostArchive

may_connect = contextvars.ContextVar("may_connect", default=False)
"""Whether the checks may connect. The `check` command sets it for --tag redis (management/commands/check.py)."""
URL_SCHEMES = (
    "embedded", "redis", "rediss", "unix",
    "redis+sentinel", "redis+shards", "redis+twemproxy", "redis+cluster",
    "rediss+sentinel", "rediss+shards", "rediss+cluster",
)  # fmt: skip
FAILOVER_SCHEMES = ("redis+sentinel", "redis+cluster", "rediss+sentinel", "rediss+cluster")
NOT_BEHIND_TWEMPROXY = ("jobs", "live", "sessions")
"""Components with streams, pub/sub or control messages, which Twemproxy does not support."""


@register("redis")
def check_component_urls(**_: Any) -> list[CheckMessage]:
    """Check that the topology of every component supports the component. The check only reads settings."""
    return [error for name, url in _component_urls().items() if (error := _check_component_url(name, url))]


@register("redis")
def check_variable_names(**_: Any) -> list[CheckMessage]:
    """Warn about variables with a misspelt component, because its data would be stored at REDIS_URL."""
    components = ", ".join(settings_parsers.COMPONENTS)
    return [
        Warning(f"{name} places no component.", hint=f"The components are {components}.", id="socialsite.W002")
        for name in settings_parsers.find_unknown_redis_variables(os.environ)
    ]


@register("redis", deploy=True)
def check_decisions(**_: Any) -> list[CheckMessage]:
    """Report missing settings that the operator has to choose."""
    messages: list[CheckMessage] = []
    has_failover = any(urlsplit(url).scheme in FAILOVER_SCHEMES for url in _component_urls().values())
    if has_failover and "REQUIRE_REPLICAS" not in os.environ:
        messages.append(
            Warning(
                "A failover after a network cut loses posts that were acknowledged meanwhile.",
                hint="Set REQUIRE_REPLICAS=1 to acknowledge only posts that a replica has, or 0 to accept the loss.",
                id="socialsite.W003",
            )
        )
    if not settings.SECURITY_CONTACT:
        messages.append(
            Warning(
                "SECURITY_CONTACT is not set: nobody can report a security hole.",
                hint="Set a mailto: or https: address.",
                id="socialsite.W004",
            )
        )
    return messages


@register("mail", deploy=True)
def check_mail(**_: Any) -> list[CheckMessage]:
    """Report settings with which mails are not delivered, or look like spam."""
    if not settings.MAIL_URL:
        return [
            Warning(
                f"MAIL_URL is not set: mails are files in {settings.MAIL_ROOT}, and nobody gets them.",
                hint="Set a mail server such as smtp+tls://user:password@mail.example.org:587.",
                id="socialsite.W005",
            )
        ]
    host = urlsplit(settings.SITE_URL).hostname or ""
    domain = parseaddr(settings.MAIL_FROM)[1].rpartition("@")[2].lower()
    if domain and (host == domain or host.endswith(f".{domain}")):
        return []
    return [
        Warning(
            f"MAIL_FROM has the domain {domain or '(none)'}, and the site is at {host}: mails may be taken for spam.",
            hint="Use the site's domain, and set its SPF, DKIM and DMARC records (docs/guide/install.md).",
            id="socialsite.W005",
        )
    ]


@register("translation", deploy=True)
def check_translations(**_: Any) -> list[CheckMessage]:
    """Warn about languages in which pages are still in English, or show the texts of an earlier release."""
    languages = ", ".join(po.parent.parent.name for po in find_stale_languages())
    hint = "Run `python -m socialsite.translations` as the user that installs releases."
    return [Warning(f"Not compiled: {languages}.", hint=hint, id="socialsite.W007")] if languages else []


@register("archive", "redis")
def check_archive(**_: Any) -> list[CheckMessage]:
    """Check ARCHIVE_URL, and with --tag redis also that the archive answers."""
    try:
        archive = create_archive(settings.ARCHIVE_URL)
        if may_connect.get():
            asyncio.run(_use_archive(archive))
    except InvalidArchiveUrl as error:
        return [Error(str(error), id="socialsite.E007")]
    except ArchiveUnavailable as error:
        hint = "Pages with archived posts answer 503 until it does."
        return [Error(str(error), hint=hint, id="socialsite.E009")]
    return []


async def _use_archive(archive: PostArchive) -> None:
    try:
        await archive.check()
    finally:
        await archive.close()


@register("redis")
def check_servers(**_: Any) -> list[CheckMessage]:
    """Check that every server is reachable, new enough and durable, evicts no data, and has our partitions."""
    if not may_connect.get():
        return []
    component_urls = {name: url for name, url in settings.REDIS_COMPONENT_URLS.items() if name != "cache"}
    try:
        return asyncio.run(_check_store(StoreUrls(settings.REDIS_URL, component_urls)))
    except StoreUnavailable as error:
        return [_unreachable_error(str(error))]
    except StoreError as error:  # wrong URL, shard map or proxy: the message says what to do
        return [Error(str(error), id="socialsite.E006")]


def check_server_info(name: str, info: dict[str, str]) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    version = info.get("redis_version", "0.0")
    if tuple(map(int, version.split(".")[:2])) < MIN_VERSION:
        messages.append(Error(f"{name} runs version {version}; 7.0 or newer is needed.", id="socialsite.E003"))
    elif untried := _untried_version(info):
        tried = ", ".join(f"{kind} {number}" for kind, numbers in TRIED_VERSIONS.items() for number in numbers)
        hint = f"Tried were {tried}."
        messages.append(Warning(f"{name} runs {untried}, which was not tried.", hint=hint, id="socialsite.W008"))
    policy = info.get("maxmemory_policy")
    if policy != NO_EVICTION:
        messages.append(
            Error(
                f"{name} may delete data when its memory is full (maxmemory-policy {policy}).",
                hint="Set `maxmemory-policy noeviction` in redis.conf.",
                id="socialsite.E004",
            )
        )
    if info.get("aof_enabled") != "1":
        messages.append(
            Warning(
                f"{name} writes no append-only file: a crash loses all writes after the last snapshot.",
                hint="Set `appendonly yes` and `appendfsync everysec` in redis.conf.",
                id="socialsite.W001",
            )
        )
    return messages


def _untried_version(info: dict[str, str]) -> str | None:
    """Return kind and version of a server that is not in TRIED_VERSIONS. Valkey reports a version of Redis, too."""
    kind = info.get("server_name", "redis")
    version = info.get(f"{kind}_version", "0.0")
    is_tried = ".".join(version.split(".")[:2]) in TRIED_VERSIONS.get(kind, ())
    return None if is_tried else f"{kind} {version}"


async def _check_store(urls: StoreUrls) -> list[CheckMessage]:
    store = await open_store(urls)
    try:
        messages = [message for node in store.nodes for message in await _check_node(node)]
        messages += [Error(fault.reason, id="socialsite.E006") for fault in await find_mark_faults(store)]
        return messages or [*await _check_partitions(store), *await _check_media_folder(store)]
    finally:
        await store.close()


async def _check_node(node: Node) -> Sequence[CheckMessage]:
    try:
        replies = await node.execute_all([("INFO", part) for part in ("server", "memory", "persistence")])
    except StoreError as error:
        return [_unreachable_error(f"{node.address}: {error}")]
    messages = check_server_info(str(node.address), parse_info(b"\r\n".join(replies)))
    replicas = node.replicas.nodes if node.replicas is not None else ()
    return messages + [warning for replica in replicas for warning in await _check_replica(replica)]


async def _check_replica(replica: Node) -> list[CheckMessage]:
    try:
        await Node.execute_all(replica, [("PING",)])  # ReplicaNode.execute_all would ask the master
    except StoreError as error:
        hint = "Until it answers, its master answers all reads. Correct its address, or take it out of the URL."
        return [Warning(f"A replica does not answer: {error}", hint=hint, id="socialsite.W006")]
    return []


async def _check_partitions(store: Store) -> list[CheckMessage]:
    key = keys.follow_partitions()
    partitions = await store.node(key).execute("GET", key)
    if partitions is None or int(partitions) == settings.FOLLOW_PARTITIONS:
        return []
    return [
        Error(
            f"FOLLOW_PARTITIONS is {settings.FOLLOW_PARTITIONS}, but this store was created with {int(partitions)}.",
            hint="Restore the old number, or change it by `manage.py repartition --follow-partitions N`.",
            id="socialsite.E005",
        )
    ]


async def _check_media_folder(store: Store) -> list[CheckMessage]:
    """Check that this machine uses the folder of pictures of the site, not a private one."""
    site_folder_id, files = await MediaRows(store).find_folder_id(), MediaFiles()
    if site_folder_id is None or files.folder is None or await asyncio.to_thread(files.find_id) == site_folder_id:
        return []
    return [
        Error(
            f"MEDIA_ROOT {files.folder} is not the folder in which the site stores its pictures.",
            hint="Share that folder with all machines, or set MEDIA_S3_BUCKET. If its files are lost, write "
            f"{site_folder_id} into {files.folder / FOLDER_ID_FILE}.",
            id="socialsite.E008",
        )
    ]


def _component_urls() -> dict[str, str]:
    """Return URLs by component. The key "" has the URL of all other components."""
    return {"": settings.REDIS_URL, **settings.REDIS_COMPONENT_URLS}


def _check_component_url(component: str, url: str) -> CheckMessage | None:
    name = f"REDIS_{component.upper()}_URL" if component else "REDIS_URL"
    scheme = urlsplit(url).scheme
    if scheme not in URL_SCHEMES:
        return Error(
            f'{name}: "{scheme}://" names no topology.',
            hint=f"Use one of {', '.join(f'{name}://' for name in URL_SCHEMES)}.",
            id="socialsite.E001",
        )
    if scheme != "redis+twemproxy":
        return None
    unsupported = NOT_BEHIND_TWEMPROXY + (REPLICA_CONFIRMED_COMPONENTS if settings.REQUIRE_REPLICAS else ())
    wrong = [each for each in unsupported if each == component or (not component and each not in _component_urls())]
    if not wrong:
        return None
    return Error(
        f"{name} puts {', '.join(wrong)} behind Twemproxy, which cannot carry them.",
        hint=f"Set {', '.join(f'REDIS_{each.upper()}_URL' for each in wrong)} to a server of their own.",
        id="socialsite.E001",
    )


def _unreachable_error(reason: str) -> Error:
    return Error(f"Redis does not answer: {reason}", id="socialsite.E002")
