"""Stores previews by their links, and the links whose previews authors removed from their posts."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

import msgspec

from socialsite.clock import DAY_MS
from socialsite.ids import PostId, TimeSource, ms_from_id
from socialsite.store import PreparedCommand, Read, Reply, Repository, prepare_command
from socialsite.store.replies import decode_or_none
from timelines import keys
from timelines.previews.preview import LinkPreview, digest_of

PREVIEW_TTL_MS, FAILURE_TTL_MS, REPEATED_FAILURE_TTL_MS = 30 * DAY_MS, 3_600_000, DAY_MS
EXPIRED_AGE_MS = DAY_MS
"""The age of a post from which an absent preview has expired. The worker has not fetched that of a newer post yet."""
EXPIRED_CAP, NOTED_CAP = 1_000, 10_000
_decoder = msgspec.msgpack.Decoder(LinkPreview)


class PreviewRepository(Repository):
    async def find(self, url: str) -> LinkPreview | None:
        """Return the preview of a link, or a failure, or None if the link was not fetched lately."""
        return _parse(await self._posts.execute("GET", keys.preview(digest_of(url))), url)

    async def save(self, preview: LinkPreview, failure_ttl_ms: int = FAILURE_TTL_MS) -> None:
        key = keys.preview(digest_of(preview.url))
        ttl_ms = PREVIEW_TTL_MS if preview.title else failure_ttl_ms
        await self._posts.write("SET", key, msgspec.msgpack.encode(preview), "PX", ttl_ms)

    async def hide(self, post_id: PostId, url: str) -> None:
        """Record that the post does not show the preview of this link. The deletion of the post deletes the record."""
        await self._posts.write("SET", keys.hidden_preview(post_id), digest_of(url))


class ExpiredPreviews:
    """The links of older posts whose previews readers of this process missed, each with a post and once a day.

    Each process queues them every few seconds (socialsite/startup.py).
    """

    def __init__(self, clock: TimeSource) -> None:
        self._clock = clock
        self._links: deque[tuple[str, PostId]] = deque()
        self._noted: set[str] = set()
        self._noted_day = 0

    def note(self, post_id: PostId, url: str) -> None:
        now_ms = self._clock.now_ms()
        if self._noted_day != now_ms // DAY_MS or len(self._noted) >= NOTED_CAP:
            self._noted, self._noted_day = set(), now_ms // DAY_MS
        is_new = url not in self._noted and len(self._links) < EXPIRED_CAP
        if is_new and ms_from_id(post_id) <= now_ms - EXPIRED_AGE_MS:
            self._noted.add(url)
            self._links.append((url, post_id))

    def take(self, limit: int) -> list[tuple[str, PostId]]:
        """Return and remove the first links, each with a post."""
        return [self._links.popleft() for _ in range(min(limit, len(self._links)))]


def read_previews(links: Mapping[PostId, str], expired: ExpiredPreviews) -> Read[dict[PostId, LinkPreview]]:
    """Read the previews of the posts (post -> link). A post without one, or whose author removed it, is left out.

    Links without a preview are noted in `expired`.
    """

    def parse(replies: Sequence[Reply]) -> dict[PostId, LinkPreview]:
        previews: dict[PostId, LinkPreview] = {}
        for (post_id, url), value, hidden in zip(links.items(), replies[::2], replies[1::2], strict=True):
            preview = _parse(value, url)
            if hidden and hidden == digest_of(url).encode():
                continue
            if preview is None:
                expired.note(post_id, url)
            elif preview.title:
                previews[post_id] = preview
        return previews

    commands = [*chain.from_iterable(map(_commands, links.items()))]
    return Read(commands, parse, wrong_type_reply=None)


@lru_cache(maxsize=2_048)
def _commands(link: tuple[PostId, str]) -> tuple[PreparedCommand, PreparedCommand]:
    """Return the commands that read the preview of a link, and the link whose preview is removed from the post."""
    post_id, url = link
    return prepare_command("GET", keys.preview(digest_of(url))), prepare_command("GET", keys.hidden_preview(post_id))


@lru_cache(maxsize=2_048)
def _parse(value: bytes | None, url: str) -> LinkPreview | None:
    preview = decode_or_none(_decoder, value)
    return preview if preview is not None and preview.url == url else None
