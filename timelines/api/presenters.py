"""Presents accounts and posts as encoded entities, with their accounts.

A post is encoded once for each state of its viewer and counts, and an account once for each summary, because encoding a
home of 40 posts takes longer than reading it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

import msgspec

from accounts.accounts.service import AccountService
from accounts.domain import Author
from socialsite.byte_cache import MB, byte_cached
from socialsite.ids import AccountId
from socialsite.site.service import SiteService
from socialsite.web.responses import format_iso_time
from socialsite.web.services import SiteServices
from timelines.api.entities.account import account_entity
from timelines.api.entities.status import Mention, quote_approval, status_fields
from timelines.errors import PostNotFound
from timelines.notifications.groups import group_key, kinds_grouped_in_api
from timelines.notifications.notification import VisibleNotification
from timelines.notifications.service import MENTIONS_CAP
from timelines.pages.page import STATES_WITH_POST, HydratedPost, QuoteState
from timelines.pages.presenters import Json
from timelines.profiles.summaries import AccountSummary, AccountSummaryService
from timelines.text.linkify import find_mentions

STATUSES_CACHE_BYTES, ACCOUNTS_CACHE_BYTES, STATUS_KEY_BYTES = 10 * MB, 2 * MB, 3_000
MENTIONS_CACHE_SIZE = 1_024

NO_MENTIONS: tuple[Mention, ...] = ()
Summaries = dict[AccountId, AccountSummary]
Part = tuple[AccountSummary, tuple[Mention, ...]]
"""The author of a post, and the accounts that its text mentions."""


class Site(Protocol):
    """A request or a stream, whose address entities contain."""

    @property
    def services(self) -> SiteServices: ...
    @property
    def site_url(self) -> str: ...


def requires_keys(site: Site) -> bool:
    """Return whether apps get every picture by the key of its URL, because the site is members-only."""
    return site.services[SiteService].settings.members_only


async def accounts_json(site: Site, ids: Iterable[AccountId]) -> list[msgspec.Raw]:
    """Return the active accounts among `ids`, in their order."""
    return list((await accounts_by_id(site, ids)).values())


async def accounts_by_id(
    site: Site, ids: Iterable[AccountId], *, is_fresh: bool = False
) -> dict[AccountId, msgspec.Raw]:
    """Return the active accounts among `ids`, in their order. With `is_fresh` their counts are read again."""
    authors, service = dict[AccountId, Author | None].fromkeys(ids), site.services[AccountSummaryService]
    summaries = await (service.find_fresh(authors) if is_fresh else service.find(authors))
    active, keys = (id for id in authors if id in summaries and summaries[id].author.is_visible), requires_keys(site)
    return {id: msgspec.Raw(_encoded_account(summaries[id], site.site_url, keys)) for id in active}


def with_fields(entity: msgspec.Raw, fields: Json) -> msgspec.Raw:
    return msgspec.Raw(b"%b,%b" % (bytes(entity)[:-1], msgspec.json.encode(fields)[1:]))


async def status_json(site: Site, entry: HydratedPost, *, may_quote: bool | None = None) -> msgspec.Raw:
    """Return one post. `may_quote` says whether the viewer may quote it, if the caller knows this.

    Raises PostNotFound if its author does not exist any more.
    """
    (status,) = await _statuses(site, [entry], may_quote)
    if status is None:
        raise PostNotFound
    return status


async def statuses_json(site: Site, entries: Sequence[HydratedPost]) -> list[msgspec.Raw]:
    """Return the posts as the viewer of `entries` sees them, in their order."""
    return [status for status in await _statuses(site, entries) if status is not None]


async def _statuses(
    site: Site, entries: Sequence[HydratedPost], may_quote: bool | None = None
) -> list[msgspec.Raw | None]:
    """Return each post, or None if its author does not exist any more."""
    handles: set[str] = set()
    authors: dict[AccountId, Author] = {}
    for entry in entries:
        for post in _posts_of(entry):
            authors[post.author.id] = post.author
            handles.update(_mentioned_handles(post.post.text))
    ids = await site.services[AccountService].find_ids_by_handle(handles) if handles else {}
    summaries = await site.services[AccountSummaryService].find({**dict.fromkeys(ids.values()), **authors})
    statuses: list[msgspec.Raw | None] = []
    keys = requires_keys(site)
    for entry in entries:
        posts, status = _posts_of(entry), None
        if all(post.author.id in summaries for post in posts):
            parts = tuple([_part(post, ids, summaries) for post in posts])
            status = msgspec.Raw(_encoded_status(entry, parts, site.site_url, keys, may_quote))
        statuses.append(status)
    return statuses


async def notifications_json(site: Site, entries: Sequence[VisibleNotification]) -> list[dict[str, object]]:
    """Return the notifications whose kind clients know, in their order."""
    supported = [entry for entry in entries if entry.kind.api_type]
    posts = {id(entry.entry): entry.entry for entry in supported if entry.entry is not None}
    summaries = await site.services[AccountSummaryService].find({entry.author.id: entry.author for entry in supported})
    statuses = dict(zip(posts, await _statuses(site, list(posts.values())), strict=True))
    grouped, keys = kinds_grouped_in_api(), requires_keys(site)
    return [
        {
            "id": str(entry.id),
            "type": entry.kind.api_type,
            "created_at": format_iso_time(entry.created_ms),
            "group_key": group_key(entry, grouped),
            "account": msgspec.Raw(_encoded_account(summaries[entry.author.id], site.site_url, keys)),
            **({} if entry.entry is None else {"status": statuses[id(entry.entry)]}),
        }
        for entry in supported
        if entry.author.id in summaries
    ]


def _posts_of(entry: HydratedPost) -> tuple[HydratedPost, ...]:
    """Return the entry, the original of a boost, and the quoted post."""
    shown = entry.original or entry
    posts = (entry,) if shown is entry else (entry, shown)
    quote = shown.quote
    return posts if quote is None or quote.post is None else (*posts, quote.post)


def _part(post: HydratedPost, ids: Mapping[str, AccountId], summaries: Summaries) -> Part:
    handles = _mentioned_handles(post.post.text)
    if not handles:
        return summaries[post.author.id], NO_MENTIONS
    mentions = (each for each in handles if each in ids and _is_shown(summaries, ids[each], each))
    return summaries[post.author.id], tuple((each, ids[each]) for each in mentions)


@byte_cached(STATUSES_CACHE_BYTES, entry_bytes=STATUS_KEY_BYTES)
def _encoded_status(
    entry: HydratedPost,
    parts: tuple[Part, ...],
    site: str,
    needs_keys: bool,
    may_quote: bool | None,
    shallow_state: QuoteState | None = None,
) -> bytes:
    """Return a post. `parts` belong to `_posts_of(entry)`.

    If a quoted post is itself a quote in the state `shallow_state`, it gets a ShallowQuote.
    """
    (author, mentions), *rest = parts
    original, quote, shown = b"null", b"null", entry.shown
    if entry.original is not None:
        original = _encoded_status(entry.original, tuple(rest), site, needs_keys, may_quote)
        mentions = rest[0][1]
    elif entry.quote is not None:
        post, inner = entry.quote.post, entry.quote.inner_state
        quoted = post and msgspec.Raw(_encoded_status(post, tuple(rest), site, needs_keys, None, inner))
        quote = msgspec.json.encode({"state": entry.quote.state, "quoted_status": quoted})
    elif shallow_state is not None:
        quoted_id = str(shown.post.extra.quote_of) if shallow_state in STATES_WITH_POST else None
        quote = msgspec.json.encode({"state": shallow_state, "quoted_status_id": quoted_id})
    policy = (author if entry.original is None else rest[0][0]).quote_policy
    fields = status_fields(entry, mentions, site, needs_keys)
    fields["quote_approval"] = quote_approval(shown, policy, may_quote)
    account, encoded = _encoded_account(author, site, needs_keys), msgspec.json.encode(fields)[1:]
    return b'{"account":%b,"reblog":%b,"quote":%b,%b' % (account, original, quote, encoded)


def _is_shown(summaries: Summaries, account_id: AccountId, handle: str) -> bool:
    """Return whether the account is active and has the mentioned handle: a restore may change the id of a handle."""
    author = summaries[account_id].author if account_id in summaries else None
    return author is not None and author.is_visible and author.handle == handle


@lru_cache(maxsize=MENTIONS_CACHE_SIZE)
def _mentioned_handles(text: str) -> tuple[str, ...]:
    return tuple(find_mentions(text)[:MENTIONS_CAP]) if "@" in text or "＠" in text else ()


@byte_cached(ACCOUNTS_CACHE_BYTES)
def _encoded_account(summary: AccountSummary, site: str, needs_keys: bool) -> bytes:
    return msgspec.json.encode(account_entity(summary, site, needs_keys))
