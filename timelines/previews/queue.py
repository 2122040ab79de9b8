"""The jobs of the queue `previews`, and what they share: the limits, and how a page is fetched."""

from collections.abc import Callable, Collection

import msgspec
import structlog

from socialsite.ids import AccountId, PostId
from socialsite.outgoing.requests import OutgoingClient, OutgoingFailed, OutgoingRefused, OutgoingResponse
from socialsite.recipes.job import make_job_decoder

PAGE_TYPES = ("text/html", "application/xhtml+xml")
PAGE_MAX_BYTES = 2 * 1024 * 1024
"""As in Mastodon. Large sites have their titles behind 700 kB of scripts."""
PREVIEWS_PER_DAY = 500
"""Links of an account that are fetched in a day (UTC). Each leaves a preview, and perhaps a picture."""
log = structlog.stdlib.get_logger("timelines.previews")


class FetchPreview(msgspec.Struct, frozen=True, tag="preview"):
    """Fetch the preview of a link, for an author's post."""

    url: str
    account_id: AccountId
    post_id: PostId
    is_renewal: bool = False
    """True if a reader missed the preview of an older post."""


class CheckLinks(msgspec.Struct, frozen=True, tag="links"):
    """Check whether the pages that a profile links to link back."""

    account_id: AccountId


encode_job = msgspec.msgpack.Encoder().encode
decode_job: Callable[[bytes], FetchPreview | CheckLinks] = make_job_decoder(FetchPreview | CheckLinks)


async def fetch(
    outgoing: OutgoingClient, url: str, accept: Collection[str], max_bytes: int, *, is_cut: bool = False
) -> OutgoingResponse | None:
    """Return a response with status 200, or None."""
    try:
        response = await outgoing.get(url, accept=accept, max_bytes=max_bytes, is_cut=is_cut)
    except (OutgoingRefused, OutgoingFailed) as error:
        log.info("preview_failed", reason=str(error))
        return None
    return response if response.status == 200 else None
