"""Presents the pictures of a post: the context of timelines/_pictures.html, HTML for feeds, and JSON.

The JSON has Mastodon's names (https://docs.joinmastodon.org/entities/MediaAttachment/).
"""

from functools import lru_cache

import blurhash
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.domain import Author
from timelines.media.media import MediaSize, media_url
from timelines.posts.post import MediaAttachment, Post

BASE83 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
"""The digits of a blurhash (https://blurha.sh)."""
BLUR_COLUMNS, BLUR_ROWS = 4, 3
"""Cells of a sensitive picture's cover, which the style sheet blurs further."""
FOCUS_STEPS = 4
"""The focal point is shown in steps of a quarter, since the content security policy forbids inline styles."""


def attachment_url(attachment: MediaAttachment, size: MediaSize) -> str:
    return media_url(f"{attachment.id}-{attachment.secret}", size, attachment.extension)


def is_sensitive(post: Post, author: Author) -> bool:
    """Return whether the pictures are shown only on request: the author or staff marked them."""
    return post.extra.sensitive or (author.marks_pictures and bool(post.extra.media))


def are_pictures_hidden(post: Post, author: Author) -> bool:
    """Return whether other sites and feeds do not show the pictures."""
    return is_sensitive(post, author) or bool(post.extra.spoiler_text)


def describe_post(post: Post) -> str:
    """Return the content warning of a post, or its text, or the description of its first picture."""
    media = post.extra.media
    return post.extra.spoiler_text or post.text or (media and (media[0].alt or _("Picture"))) or ""


def preview_picture_url(post: Post, author: Author) -> str:
    """Return the URL of the picture that other sites show beside a link to the post, or "" if there is none."""
    media = post.extra.media
    return attachment_url(media[0], "full") if media and not are_pictures_hidden(post, author) else ""


def pictures_context(post: Post, author: Author) -> dict[str, object]:
    """Return the context of timelines/_pictures.html. A content warning folds the pictures together with the text."""
    media = post.extra.media
    pictures = [_picture_context(attachment) for attachment in media]
    is_hidden = is_sensitive(post, author)
    blur = [cell for place, each in enumerate(media) for cell in blurred(each.blurhash, place)] if is_hidden else []
    return {"pictures": pictures, "is_hidden": is_hidden, "blur": blur, "blur_width": BLUR_COLUMNS * len(media)}


def _picture_context(attachment: MediaAttachment) -> dict[str, object]:
    x, y = attachment.focus
    return {
        "url": attachment_url(attachment, "full"),
        "small_url": attachment_url(attachment, "small"),
        "width": attachment.width,
        "height": attachment.height,
        "alt": attachment.alt,
        "color": average_color(attachment.blurhash),
        "focus_x": round((1 + x) / 2 * FOCUS_STEPS),
        "focus_y": round((1 - y) / 2 * FOCUS_STEPS),
        "is_animated": attachment.is_animated,
    }


def attachment_json(attachment: MediaAttachment) -> dict[str, object]:
    x, y = attachment.focus
    original = {"width": attachment.width, "height": attachment.height}
    return {
        "id": str(attachment.id),
        "type": "image",
        "url": attachment_url(attachment, "full"),
        "preview_url": attachment_url(attachment, "small"),
        "description": attachment.alt or None,
        "blurhash": attachment.blurhash,
        "meta": {"original": original, "focus": {"x": x, "y": y}},
    }


def blurred(hashed: str, place: int) -> list[tuple[int, int, str]]:
    """Return column, row and color of the cells of a blurred picture, the `place`-th of a row of pictures.

    An invalid blurhash has no cells. Each cell overlaps the next one in the template, so that no gap is seen.
    """
    try:
        rows = blurhash.decode(hashed, BLUR_COLUMNS, BLUR_ROWS)  # type: ignore[no-untyped-call]
    except (ValueError, KeyError):
        return []
    return [
        (place * BLUR_COLUMNS + x, y, "#{:02x}{:02x}{:02x}".format(*color))
        for y, colors in enumerate(rows)
        for x, color in enumerate(colors)
    ]


@lru_cache(maxsize=4_096)
def average_color(hashed: str) -> str:
    """Return the average color, which the digits 3 to 6 of a blurhash contain, as in "#a0b1c2"."""
    value = 0
    for digit in hashed[2:6]:
        value = value * len(BASE83) + max(0, BASE83.find(digit))
    return f"#{value & 0xFFFFFF:06x}"


def feed_pictures_html(post: Post, author: Author, site_url: str) -> SafeString:
    """Return the pictures of a post in a feed. Hidden pictures are links."""
    is_hidden = are_pictures_hidden(post, author)
    rows = [(site_url + attachment_url(each, "full"), each.alt or _("Picture"), each) for each in post.extra.media]
    if is_hidden:
        return format_html_join("", '<p><a href="{}">{}</a></p>', ((url, alt) for url, alt, _each in rows))
    return format_html_join(
        "", '<p><img src="{}" alt="{}" width="{}" height="{}"></p>', ((u, a, e.width, e.height) for u, a, e in rows)
    )
