"""The entity Status (https://docs.joinmastodon.org/entities/Status/), without its accounts.

`presenters.py` inserts the accounts, which change more often than the rest and are cached separately.
"""

from collections.abc import Collection
from typing import Final

from msgspec import structs

from accounts.domain import Author, QuotePolicy
from socialsite.web.responses import format_iso_time
from timelines.api.entities.content import content_html
from timelines.api.entities.filter import filter_results
from timelines.api.entities.media import attachment_entity
from timelines.api.entities.poll import poll_entity
from timelines.drafts.draft import Draft
from timelines.media.links import link_query
from timelines.pages.page import HydratedPost
from timelines.pages.pictures import are_pictures_hidden
from timelines.pages.presenters import Json, card_json, hashtag_url, post_url, profile_url
from timelines.posts.post import FOLLOWERS, PUBLIC, SHORT_TEXTS, UNLISTED, VALUE_FIELDS, Post, PostDetails
from timelines.previews.preview import LinkPreview
from timelines.publishing.forms import PostForm
from timelines.text.linkify import find_all_hashtags
from timelines.visibility.rights import requires_follow

VISIBILITY_BY_AUDIENCE: Final = {PUBLIC: "public", UNLISTED: "unlisted", FOLLOWERS: "private"}

Mention = tuple[str, int]
"""The handle and the id of a mentioned account."""


def status_fields(entry: HydratedPost, mentions: tuple[Mention, ...], site_url: str, needs_keys: bool = False) -> Json:
    """Return all fields but `account`, `reblog`, `quote` and `quote_approval`.

    A boost has the text, the counts and the state of its original.
    """
    shown, is_boost = entry.shown, entry.original is not None
    post, extra, viewer = shown.post, shown.post.extra, shown.viewer
    url = site_url + post_url(entry.post.id, entry.author).removesuffix("/")  # clients read the id from its end
    reply = entry.post  # a boost is no reply
    return {
        "id": str(entry.post.id),
        "uri": url,
        "url": url,
        "created_at": format_iso_time(entry.post.created_ms),
        "edited_at": None if extra.edited_ms is None else format_iso_time(extra.edited_ms),
        "in_reply_to_id": str(reply.in_reply_to) if reply.in_reply_to else None,
        "in_reply_to_account_id": str(reply.reply_to_author_id) if reply.reply_to_author_id else None,
        "sensitive": are_pictures_hidden(post, shown.author),
        **short_texts_json(extra),
        "visibility": "private" if _is_for_followers(shown) else VISIBILITY_BY_AUDIENCE[post.audience],
        "language": extra.language,
        "content": content_html(post.text, site_url, [handle for handle, _ in mentions]),
        "replies_count": shown.counts.replies,
        "reblogs_count": shown.counts.boosts,
        "favourites_count": shown.counts.likes,
        "media_attachments": [] if is_boost else _media_json(post, shown.author, site_url, needs_keys),
        "mentions": [] if is_boost else [_mention_json(handle, id, site_url) for handle, id in mentions],
        "tags": [] if is_boost else tags_json(post, site_url),
        "emojis": [],
        "poll": None if is_boost else poll_entity(shown),
        "card": None if is_boost or entry.preview is None else card_entity(entry.preview, site_url, needs_keys),
        "application": None,
        **(
            {}
            if viewer is None
            else {
                "favourited": viewer.liked,
                "reblogged": viewer.boosted,
                "bookmarked": viewer.bookmarked,
                "muted": viewer.muted,
                **({"pinned": viewer.pinned} if viewer.own and not is_boost else {}),
            }
        ),
        "filtered": filter_results(entry.matching_filters),
    }


def _is_for_followers(shown: HydratedPost) -> bool:
    """Return whether only followers see the post. A limited author sees the visibility that the author chose."""
    is_own = shown.viewer is not None and shown.viewer.own
    return requires_follow(shown.post, structs.replace(shown.author, limited=False) if is_own else shown.author)


def card_entity(preview: LinkPreview, site_url: str, needs_keys: bool) -> Json:
    """Return a PreviewCard (https://docs.joinmastodon.org/entities/PreviewCard/)."""
    picture, card = preview.picture, card_json(preview)
    query = link_query(f"{picture.id}-{picture.secret}") if picture and needs_keys else ""
    texts = ("author_name", "author_url", "provider_url", "html", "embed_url", "image_description")
    return {
        **dict.fromkeys(texts, ""),
        **card,
        "type": "link",
        "authors": [],
        "language": None,
        "published_at": None,
        "width": picture.width if picture else 0,
        "height": picture.height if picture else 0,
        "image": site_url + card["image"] + query if picture else None,
        "blurhash": picture.blurhash if picture else None,
    }


def quote_approval(shown: HydratedPost, preferred: QuotePolicy, may_quote: bool | None) -> Json:
    """Return who may quote a post. `preferred` is the policy of the author for posts without a policy.

    `may_quote` is True if the viewer may quote the post, and None if this was not read.
    """
    policy = "nobody" if requires_follow(shown.post, shown.author) else shown.post.extra.quote_policy or preferred
    if may_quote is None and policy != "followers":
        may_quote = policy == "public" and shown.viewer is not None
    if shown.viewer is not None and shown.viewer.own:
        may_quote = True
    current = "unknown" if may_quote is None else "automatic" if may_quote else "denied"
    return {"automatic": [] if policy == "nobody" else [policy], "manual": [], "current_user": current}


def version_entity(
    post: Post, author: Author, site_url: str, needs_keys: bool = False, mentioned: Collection[str] = ()
) -> Json:
    """Return one version of a post as StatusEdit, without its account and its quote. Only `mentioned` are linked."""
    extra = post.extra
    poll = None if extra.poll is None else {"options": [{"title": text} for text in extra.poll.options]}
    return {
        "content": content_html(post.text, site_url, mentioned),
        **short_texts_json(extra),
        "sensitive": are_pictures_hidden(post, author),
        "created_at": format_iso_time(extra.edited_ms or post.created_ms),
        "media_attachments": _media_json(post, author, site_url, needs_keys),
        "emojis": [],
        **({} if poll is None else {"poll": poll}),
    }


def scheduled_entity(draft: Draft, form: PostForm, media: list[Json]) -> Json:
    """Return a scheduled post as ScheduledStatus."""
    poll, reply, quoted = form.poll, form.in_reply_to, form.details.quote_of
    return {
        "id": str(draft.id),
        "scheduled_at": format_iso_time(draft.scheduled_ms or 0),
        "params": {
            "text": form.text,
            "poll": poll
            and {"options": poll.options, "expires_in": poll.expires_in or None, "multiple": poll.multiple},
            "media_ids": [str(each) for each in form.media_ids] or None,
            **{
                each.form_name: None if (value := getattr(form.details, each.name)) == "" else value
                for each in VALUE_FIELDS
            },
            "visibility": None if form.audience is None else VISIBILITY_BY_AUDIENCE[form.audience],
            "in_reply_to_id": None if reply is None else str(reply),
            "quoted_status_id": None if quoted is None else str(quoted),
            "application_id": None,
            "scheduled_at": None,
            "idempotency": None,
            "with_rate_limit": False,
        },
        "media_attachments": media,
    }


def short_texts_json(details: PostDetails) -> Json:
    return {each.name: getattr(details, each.name) for each in SHORT_TEXTS}


def tags_json(post: Post, site_url: str) -> list[Json]:
    return [{"name": tag, "url": site_url + hashtag_url(tag)} for tag in find_all_hashtags(post.text)]


def _media_json(post: Post, author: Author, site_url: str, needs_keys: bool) -> list[Json]:
    keyed_id = post.id if needs_keys or requires_follow(post, author) else None
    return [attachment_entity(each, site_url, keyed_id) for each in post.extra.media]


def _mention_json(handle: str, account_id: int, site_url: str) -> Json:
    return {"id": str(account_id), "username": handle, "acct": handle, "url": site_url + profile_url(handle)}
