"""Fetches the previews of links, in jobs of the queue `previews`, never in a request."""

import asyncio

from msgspec import structs

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.limits import ActionLimits, worker_caller
from socialsite.outgoing.requests import OutgoingClient, join_url
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Service
from timelines.errors import PostNotFound
from timelines.live_updates.service import LiveService
from timelines.media.media import UPLOAD_TYPES
from timelines.media.service import MediaService
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.previews.preview import LinkPreview, link_of, parse_page
from timelines.previews.queue import (
    PAGE_MAX_BYTES,
    PAGE_TYPES,
    PREVIEWS_PER_DAY,
    CheckLinks,
    FetchPreview,
    decode_job,
    encode_job,
    fetch,
)
from timelines.previews.repository import FAILURE_TTL_MS, REPEATED_FAILURE_TTL_MS, ExpiredPreviews, PreviewRepository
from timelines.previews.verified_links import VerifiedLinkService

PICTURE_MAX_BYTES = 4 * 1024 * 1024
PICTURE_TYPES = (*UPLOAD_TYPES, "image/jpg", "image/pjpeg", "application/octet-stream", "binary/octet-stream")
"""Servers of files give pictures these types. The encoder finds out what they are, as browsers do."""
RENEW_AFTER_MS = DAY_MS
"""A link that is published again after this time is fetched again."""
RENEWALS_PER_ROUND = 20
RENEWAL_SENDER = AccountId(0)
"""Renewals are fetched in turns with the links of authors."""


class PreviewService(Service):
    previews: PreviewRepository
    expired_previews: ExpiredPreviews
    preview_queue: JobQueue
    verified_links: VerifiedLinkService
    posts: PostRepository
    media: MediaService
    outgoing: OutgoingClient
    limits: ActionLimits
    clock: TimeSource
    link_previews: bool
    live: LiveService

    async def request(self, post: Post) -> None:
        """Queue the link of a new or edited post, unless it was fetched lately. The worker may repeat it."""
        url = link_of(post) if self.link_previews and post.boost_of is None else None
        if url is not None and not self._is_fresh(await self.previews.find(url)):
            author = worker_caller(post.author_id, 0, 0, self.clock.now_ms())
            if not await self.limits.take_daily(author, "previews", PREVIEWS_PER_DAY, 1):
                return
            await self.preview_queue.add(encode_job(FetchPreview(url, post.author_id, post.id)), sender=post.author_id)

    async def request_renewals(self) -> None:
        """Queue links of older posts whose previews readers missed."""
        for url, post_id in self.expired_previews.take(RENEWALS_PER_ROUND):
            job = FetchPreview(url, RENEWAL_SENDER, post_id, is_renewal=True)
            await self.preview_queue.add(encode_job(job), sender=RENEWAL_SENDER)

    def _is_fresh(self, preview: LinkPreview | None) -> bool:
        return preview is not None and preview.fetched_ms > self.clock.now_ms() - RENEW_AFTER_MS

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Fetch a link and show its preview in open pages, too. Raises PermanentFailure if this is not a job."""
        job = decode_job(payload)
        if isinstance(job, CheckLinks):
            await self.verified_links.check(job.account_id)
        elif self.link_previews:
            preview = await self._renew(job)
            if preview.title:
                await self.live.post_edited(job.post_id)
        return ()

    async def _renew(self, job: FetchPreview) -> LinkPreview:
        """Fetch a link and store its preview, unless it was fetched lately. A failure keeps the former preview."""
        former = await self.previews.find(job.url)
        if former is not None and self._is_fresh(former):
            return former
        preview = await self._fetch(job.url, job.account_id)
        if former is not None and former.title and not preview.title:
            preview = structs.replace(former, fetched_ms=preview.fetched_ms)
        await self.previews.save(preview, REPEATED_FAILURE_TTL_MS if job.is_renewal else FAILURE_TTL_MS)
        if former is not None and (picture := former.picture) is not None and picture != preview.picture:
            await self.media.discard_preview(picture.id, f"{picture.id}-{picture.secret}")
        return preview

    async def _fetch(self, url: str, sender: AccountId) -> LinkPreview:
        """Return the preview of a link with its encoded picture, or a failure."""
        now_ms = self.clock.now_ms()
        page = await fetch(self.outgoing, url, PAGE_TYPES, PAGE_MAX_BYTES, is_cut=True)
        if page is None:
            return LinkPreview(url, fetched_ms=now_ms)
        content_type = page.headers.get("content-type", "")
        preview, picture_url = await asyncio.to_thread(parse_page, url, page.body, content_type, now_ms)
        if not preview.title or not picture_url:
            return preview
        picture = await fetch(self.outgoing, join_url(page.url, picture_url), PICTURE_TYPES, PICTURE_MAX_BYTES)
        if picture is None:
            return preview
        return structs.replace(preview, picture=await self.media.upload_preview(picture.body, sender))

    async def remove(self, account_id: AccountId, post_id: PostId) -> None:
        """Remove the preview from an own post. It stays removed for this link. Raises PostNotFound."""
        post = await self.posts.find(post_id)
        url = link_of(post) if post is not None and post.author_id == account_id else None
        if url is None:
            raise PostNotFound
        await self.previews.hide(post_id, url)
