"""Checks in jobs whether the pages that a profile links to link back to it. A link that does is verified.

A check is recorded before the page is fetched, so that repeated jobs and edits fetch a page once in CHECK_INTERVAL_MS.
"""

import asyncio
from collections.abc import Collection

import structlog
from django.conf import settings
from msgspec import structs

from accounts.accounts.repository import AccountRepository
from accounts.models import Account
from accounts.profile_texts import decode_fields, encode_fields
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import ActionLimits, worker_caller
from socialsite.outgoing.requests import OutgoingClient
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Part
from socialsite.store import StoreUnavailable
from timelines.previews.page import decode_page, read_links
from timelines.previews.preview import find_link
from timelines.previews.queue import PAGE_MAX_BYTES, PAGE_TYPES, PREVIEWS_PER_DAY, CheckLinks, encode_job, fetch

CHECK_INTERVAL_MS = 3_600_000
log = structlog.stdlib.get_logger("timelines.previews")


class VerifiedLinkService(Part):
    accounts: AccountRepository
    preview_queue: JobQueue
    outgoing: OutgoingClient
    limits: ActionLimits
    clock: TimeSource
    link_previews: bool

    async def request(self, account: Account) -> None:
        """Queue a check of the links that are not verified. They count as links of posts do (PREVIEWS_PER_DAY)."""
        links, account_id = self._due_links(account), AccountId(account.id)
        if not links or not self.link_previews:
            return
        caller = worker_caller(account_id, 0, 0, self.clock.now_ms())
        try:
            if await self.limits.take_daily(caller, "previews", PREVIEWS_PER_DAY, len(links)) == len(links):
                await self.preview_queue.add(encode_job(CheckLinks(account_id)), sender=account_id)
        except StoreUnavailable as error:  # the profile is stored, and the next edit queues the check
            log.warning("links_not_queued", account=account_id, reason=type(error).__name__)

    async def check(self, account_id: AccountId) -> None:
        """Fetch the pages of the links that are not verified, and store which link back."""
        account, now_ms = await self.accounts.find(account_id), self.clock.now_ms()
        links = self._due_links(account) if account is not None and account.is_active and self.link_previews else set()
        if account is None or not links or not await self._store(account, links, checked_ms=now_ms):
            return
        profile = f"{settings.SITE_URL}{account.get_absolute_url()}"
        verified = {link for link in links if await self._links_back(link, profile)}
        newest = await self.accounts.find(account_id)
        if verified and newest is not None and newest.is_active:
            await self._store(newest, verified, verified_ms=now_ms)

    def _due_links(self, account: Account) -> set[str]:
        """Return the values that are unverified links with https to another site, and that were not checked lately."""
        before_ms = self.clock.now_ms() - CHECK_INTERVAL_MS
        unverified = (each for each in decode_fields(account.fields) if not each.verified_ms)
        return {each.value for each in unverified if each.checked_ms < before_ms and is_verifiable(each.value)}

    async def _store(self, account: Account, links: Collection[str], **times: int) -> bool:
        """Set the times of the fields with these links. Return False if the owner has edited the fields meanwhile."""
        fields = decode_fields(account.fields)
        changed = encode_fields(structs.replace(each, **times) if each.value in links else each for each in fields)
        return await self.accounts.replace_text(AccountId(account.id), "fields", changed, account.fields)

    async def _links_back(self, link: str, profile: str) -> bool:
        page = await fetch(self.outgoing, link, PAGE_TYPES, PAGE_MAX_BYTES, is_cut=True)
        if page is None:
            return False
        content_type = page.headers.get("content-type", "")
        hrefs = await asyncio.to_thread(lambda: read_links(decode_page(page.body, content_type), "me"))
        return _normalize(profile) in map(_normalize, hrefs)


def is_verifiable(value: str) -> bool:
    """Return whether the value is only a link with https to another site."""
    return value[:8].lower() == "https://" and find_link(value) == value


def _normalize(url: str) -> str:
    """Return a URL without what the addresses of profiles ignore: case, and a slash at the end."""
    return url.strip().casefold().rstrip("/")
