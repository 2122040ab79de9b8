"""Renders timelines as Atom documents (RFC 4287). Ids are tag URIs (RFC 4151).

A feed shows the posts that a visitor sees, so it is the same for all clients. Its URLs are absolute.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

import regex
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape
from django.utils.xmlutils import SimplerXMLGenerator

from accounts.domain import Author, picture_url
from accounts.models import Account
from socialsite.ids import EPOCH_MS
from timelines.media.media import CONTENT_TYPES
from timelines.pages.page import HydratedPost
from timelines.pages.pictures import are_pictures_hidden, attachment_url, describe_post, feed_pictures_html
from timelines.pages.presenters import hashtag_url, lines_html, post_html, post_url, profile_url
from timelines.pages.quotes import gap_text
from timelines.posts.post import Post
from timelines.text.linkify import find_hashtags

TITLE_PATTERN = regex.compile(r"\X{0,80}")
"""The title of an entry is this part of its first line, in whole graphemes. Atom requires a title."""
HASHTAG_FEED_DATE = "2026-01-01"
"""The date in the ids of hashtag feeds. An id must never change, and a hashtag has no date of its own."""
UNKNOWN_LANGUAGE = "und"
"""The language of a post without one (ISO 639-2). Without it, readers take that of the response."""


def render_account_feed(site_url: str, account: Account, entries: Sequence[HydratedPost]) -> bytes:
    """Return the Atom feed of an account. `site_url` has no slash at the end, as in https://example.org"""
    name = account.display_name or account.handle
    feed = SiteFeed(
        title=f"{name} (@{account.handle})",
        link=site_url + profile_url(account.handle),
        description=None,
        subtitle=account.about or None,
        author_name=name,
        author_link=site_url + profile_url(account.handle),
        feed_url=f"{site_url}{profile_url(account.handle)}feed.atom",
        feed_guid=tag_uri(site_url, _utc_date(account.created_ms), f"accounts/{account.id}"),
        begun=_utc_datetime(account.created_ms),
        logo=site_url + picture_url(account.avatar, "full") if account.avatar else "",
    )
    return _serialize_feed(feed, site_url, entries)


def render_hashtag_feed(site_url: str, site_name: str, tag: str, entries: Sequence[HydratedPost]) -> bytes:
    feed = SiteFeed(
        title=f"#{tag} · {site_name}",
        link=site_url + hashtag_url(tag),
        description=None,
        feed_url=f"{site_url}{hashtag_url(tag)}feed.atom",
        feed_guid=tag_uri(site_url, HASHTAG_FEED_DATE, f"tags/{quote(tag, safe='')}"),
        begun=_utc_datetime(EPOCH_MS),
    )
    return _serialize_feed(feed, site_url, entries)


def tag_uri(site_url: str, date: str, specific: str) -> str:
    """Return an id that is the same for http and https, such as tag:example.org,2026-11-20:posts/7."""
    return f"tag:{urlsplit(site_url).hostname},{date}:{specific}"


class SiteFeed(Atom1Feed):
    """Django's Atom feed with whole posts as content. `begun` is the date of a feed without entries, `logo` a URL."""

    def latest_post_date(self) -> datetime:
        begun: datetime = self.feed["begun"]
        return max((item["updateddate"] for item in self.items), default=begun)

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        super().add_root_elements(handler)
        if logo := self.feed.get("logo"):
            handler.addQuickElement("logo", logo)

    def item_attributes(self, item: dict[str, Any]) -> dict[str, str]:
        return {**super().item_attributes(item), "xml:lang": item["language"] or UNKNOWN_LANGUAGE}

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, {**item, "description": None})
        handler.addQuickElement("content", item["description"], {"type": "html"})
        for url, content_type in item["pictures"]:
            handler.addQuickElement("link", "", {"rel": "enclosure", "href": url, "type": content_type})


def _serialize_feed(feed: SiteFeed, site_url: str, entries: Sequence[HydratedPost]) -> bytes:
    for entry in entries:
        _add_entry(feed, site_url, entry)
    return bytes(feed.writeString("utf-8").encode())


def _add_entry(feed: SiteFeed, site_url: str, entry: HydratedPost) -> None:
    post, author = entry.post, entry.author
    feed.add_item(
        title=_entry_title(describe_post(post)),
        link=site_url + post_url(post.id, author),
        description=_entry_content(post, author, site_url) + _quote_content(entry, site_url),
        author_name=author.display_name or author.handle,
        author_link=site_url + profile_url(author.handle),
        unique_id=tag_uri(site_url, _utc_date(post.created_ms), f"posts/{post.id}"),
        pubdate=_utc_datetime(post.created_ms),
        updateddate=_utc_datetime(post.extra.edited_ms or post.created_ms),
        categories=find_hashtags(post.text),
        language=post.extra.language,
        pictures=_picture_links(post, author, site_url),
    )


def _picture_links(post: Post, author: Author, site_url: str) -> list[tuple[str, str]]:
    """Return the URLs and content types of the pictures, unless they are hidden."""
    media = () if are_pictures_hidden(post, author) else post.extra.media
    return [(site_url + attachment_url(each, "full"), CONTENT_TYPES[each.extension]) for each in media]


def _entry_content(post: Post, author: Author, site_url: str) -> str:
    """Return the HTML of a post with absolute URLs. A content warning folds the text in readers that can fold."""
    # Quotation marks in posts are escaped, so only real links match.
    html = post_html(post.text).replace('href="/', f'href="{site_url}/')
    html += lines_html(post) + feed_pictures_html(post, author, site_url)
    warning = post.extra.spoiler_text
    return f"<details><summary>{escape(warning)}</summary>{html}</details>" if warning else html


def _quote_content(entry: HydratedPost, site_url: str) -> str:
    """Return the HTML of the quoted post, or "" if the post quotes none."""
    quote = entry.quote
    if quote is None or quote.post is None:
        return "" if quote is None else f"<blockquote><p>{gap_text(quote)}</p></blockquote>"
    post, author = quote.post.post, quote.post.author
    url, name = site_url + post_url(post.id, author), escape(author.display_name or author.handle)
    language = post.extra.language or UNKNOWN_LANGUAGE
    content = _entry_content(post, author, site_url)
    return f'<blockquote lang="{language}"><p><a href="{url}">{name}</a></p>{content}</blockquote>'


def _entry_title(text: str) -> str:
    line = text.partition("\n")[0]
    title: str = TITLE_PATTERN.match(line)[0]
    return title if title == line else f"{title.rstrip()}…"


def _utc_datetime(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC)


def _utc_date(ms: int) -> str:
    return f"{_utc_datetime(ms):%Y-%m-%d}"
