"""Stores previews by their links, and the links whose previews authors removed from their posts."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

import msgspec

from socialsite.clock import DAY_MS
from socialsite.ids import PostId
from socialsite.store import EncodedPipeline, PreparedCommand, Read, Reply, Store, prepare_command
from timelines import keys
from timelines.previews.preview import LinkPreview, digest_of

PREVIEW_TTL_MS, FAILURE_TTL_MS = 30 * DAY_MS, 3_600_000
_decoder = msgspec.msgpack.Decoder(LinkPreview)


class PreviewRepository:
    def __init__(self, store: Store) -> None:
        self._posts = store.component("posts")

    async def find(self, url: str) -> LinkPreview | None:
        """Return the preview of a link, or a failure, or None if the link was not fetched lately."""
        key = keys.preview(digest_of(url))
        return _parse(await self._posts[key].execute("GET", key), url)

    async def save(self, preview: LinkPreview) -> None:
        key = keys.preview(digest_of(preview.url))
        ttl_ms = PREVIEW_TTL_MS if preview.title else FAILURE_TTL_MS
        await self._posts.write(key, ("SET", key, msgspec.msgpack.encode(preview), "PX", ttl_ms))

    async def hide(self, post_id: PostId, url: str) -> None:
        """Record that the post does not show the preview of this link. The deletion of the post deletes the record."""
        key = keys.hidden_preview(post_id)
        await self._posts.write(key, ("SET", key, digest_of(url)))


def read_previews(links: Mapping[PostId, str]) -> Read[dict[PostId, LinkPreview]]:
    """Read the previews of the posts (post -> link). A post without one, or whose author removed it, is left out."""

    def parse(replies: Sequence[Reply]) -> dict[PostId, LinkPreview]:
        previews: dict[PostId, LinkPreview] = {}
        if not any(replies):
            return previews
        for (post_id, url), value, hidden in zip(links.items(), replies[::2], replies[1::2], strict=True):
            preview = _parse(value, url)
            if preview is not None and preview.title and hidden != digest_of(url).encode():
                previews[post_id] = preview
        return previews

    linked = links.items()
    payload = b"".join(map(_encode_commands, linked))
    commands = EncodedPipeline(payload, 2 * len(links), lambda: [*chain.from_iterable(map(_commands, linked))])
    return Read(commands, parse, wrong_type_reply=None)


@lru_cache(maxsize=10_000)
def _commands(link: tuple[PostId, str]) -> tuple[PreparedCommand, PreparedCommand]:
    """Return the commands that read the preview of a link, and the link whose preview is removed from the post."""
    post_id, url = link
    return prepare_command("GET", keys.preview(digest_of(url))), prepare_command("GET", keys.hidden_preview(post_id))


@lru_cache(maxsize=10_000)
def _encode_commands(link: tuple[PostId, str]) -> bytes:
    return b"".join(command.payload for command in _commands(link))


@lru_cache(maxsize=10_000)
def _parse(value: bytes | None, url: str) -> LinkPreview | None:
    try:
        preview = None if value is None else _decoder.decode(value)
    except msgspec.MsgspecError:  # another release wrote it
        return None
    return preview if preview is not None and preview.url == url else None
