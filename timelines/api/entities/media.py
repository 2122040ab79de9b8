"""The entity MediaAttachment (https://docs.joinmastodon.org/entities/MediaAttachment/)."""

from timelines.media.media import Media, media_url
from timelines.pages.pictures import attachment_url
from timelines.pages.presenters import Json
from timelines.posts.post import MediaAttachment


def attachment_entity(attachment: MediaAttachment, site_url: str) -> Json:
    """Return a picture of a post."""
    x, y = attachment.focus
    return _media_entity(
        attachment.id,
        site_url + attachment_url(attachment, "full"),
        site_url + attachment_url(attachment, "small"),
        attachment.alt,
        attachment.blurhash,
        {"original": size_json(attachment.width, attachment.height), "focus": {"x": x, "y": y}},
    )


def upload_entity(row: Media, site_url: str) -> Json:
    """Return an upload. Its URLs are null until it is encoded."""
    focus = {"focus": {"x": row.focus_x, "y": row.focus_y}}
    if row.state != "ready":
        return _media_entity(row.id, None, None, row.alt, "", focus)
    return _media_entity(
        row.id,
        site_url + media_url(row.name, "full", row.extension),
        site_url + media_url(row.name, "small", row.extension),
        row.alt,
        row.blurhash,
        {
            "original": size_json(row.width, row.height),
            "small": size_json(row.small_width, row.small_height),
            **focus,
        },
    )


def _media_entity(id: int, url: str | None, preview_url: str | None, alt: str, blurhash: str, meta: Json) -> Json:
    return {
        "id": str(id),
        "type": "image",
        "url": url,
        "preview_url": preview_url,
        "remote_url": None,
        "preview_remote_url": None,
        "text_url": None,
        "meta": meta,
        "description": alt or None,
        "blurhash": blurhash or None,
    }


def size_json(width: int, height: int) -> Json:
    return {"width": width, "height": height, "size": f"{width}x{height}", "aspect": width / height}
