"""Posts as ActivityStreams objects, in the form of Mastodon's archive, which other programs can read.

Additional fields keep what that form lacks: `source` (the text, as in ActivityPub), `versions` and `quotePolicy`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.domain import Author
from socialsite.ids import AccountId, PostId
from socialsite.web.responses import format_iso_time
from timelines.media.media import CONTENT_TYPES
from timelines.pages.presenters import Json, post_url, profile_url
from timelines.posts.poll_votes import Tally
from timelines.posts.post import FOLLOWERS, PUBLIC, SHORT_TEXTS, MediaAttachment, Post
from timelines.text.linkify import linkify

CONTEXT = "https://www.w3.org/ns/activitystreams"
EVERYBODY = f"{CONTEXT}#Public"
PICTURES_FOLDER = "media_attachments/files"


def picture_path(picture: MediaAttachment) -> str:
    return f"{PICTURES_FOLDER}/{picture.id}-{picture.secret}.{picture.extension}"


@dataclass(frozen=True, slots=True)
class ActivityBuilder:
    """Builds the activities of one account. `authors` are the authors of its posts' parents and originals."""

    base_url: str
    author: Author
    authors: Mapping[AccountId, Author]

    @property
    def actor_url(self) -> str:
        return self.base_url + profile_url(self.author.handle)

    def post_url(self, post_id: PostId | None, author_id: AccountId | None) -> str | None:
        """Return the URL of a post, or None if its author is not known."""
        author = self.author if author_id == self.author.id else self.authors.get(author_id or AccountId(0))
        return None if post_id is None or author is None else self.base_url + post_url(post_id, author)

    def activity(self, versions: Sequence[Post], tally: Tally) -> Json:
        """Return the Create of a post with all its versions, oldest first, or the Announce of a boost."""
        post = versions[-1]
        url = self.post_url(post.id, self.author.id)
        addressed: Json = {"actor": self.actor_url, "published": format_iso_time(post.created_ms), **self._to(post)}
        if post.boost_of is not None:
            original = self.post_url(post.boost_of, post.boosted_author_id)
            return {"id": f"{url}#boost", "type": "Announce", **addressed, "object": original}
        note: Json = {
            "id": url,
            "type": "Question" if post.extra.poll else "Note",
            "url": url,
            "attributedTo": self.actor_url,
            "inReplyTo": self.post_url(post.in_reply_to, post.reply_to_author_id),
            "published": addressed["published"],
            **self._to(post),
            **_content(post),
            **_poll(post, tally),
        }
        if post.extra.quote_of is not None:
            note["quoteUri"] = self.post_url(post.extra.quote_of, post.extra.quoted_author_id)
        if post.extra.quote_policy is not None:
            note["quotePolicy"] = post.extra.quote_policy
        if len(versions) > 1:
            note["versions"] = [_content(version) | _poll(version, {}) for version in versions[:-1]]
        return {"id": f"{url}#create", "type": "Create", **addressed, "object": note}

    def _to(self, post: Post) -> Json:
        followers = f"{self.actor_url}followers/"
        if post.audience == FOLLOWERS:
            return {"to": [followers], "cc": []}
        return {"to": [EVERYBODY], "cc": [followers]} if post.audience == PUBLIC else {
            "to": [followers], "cc": [EVERYBODY]
        }  # fmt: skip


def _content(version: Post) -> Json:
    """Return the fields that an edit may change, except for the poll."""
    extra, content = version.extra, linkify(version.text)
    return {
        "content": content,
        "contentMap": {extra.language: content} if extra.language else {},
        "source": {"content": version.text, "mediaType": "text/plain"},
        **{each.activity_name: getattr(extra, each.name) or None for each in SHORT_TEXTS},
        "sensitive": extra.sensitive,
        "updated": None if extra.edited_ms is None else format_iso_time(extra.edited_ms),
        "attachment": [
            {
                "type": "Document",
                "mediaType": CONTENT_TYPES[each.extension],
                "url": picture_path(each),
                "name": each.alt or None,
                "blurhash": each.blurhash,
                "focalPoint": each.focus,
                "width": each.width,
                "height": each.height,
            }
            for each in extra.media
        ],
    }


def _poll(version: Post, tally: Tally) -> Json:
    poll = version.extra.poll
    if poll is None:
        return {}
    options = [
        {"type": "Note", "name": option, "replies": {"type": "Collection", "totalItems": tally.get(b"%d" % number, 0)}}
        for number, option in enumerate(poll.options)
    ]
    return {
        "anyOf" if poll.multiple else "oneOf": options,
        "endTime": format_iso_time(poll.ends_ms),
        "votersCount": tally.get(b"voters", 0),
    }
