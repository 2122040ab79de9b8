"""The entity MediaAttachment (https://docs.joinmastodon.org/entities/MediaAttachment/)."""

from socialsite.ids import PostId
from timelines.media.links import link_query
from timelines.media.media import Media
from timelines.media.sizes import SMALL_MAX_PIXELS, SMALL_MAX_SIDE, fitting_size
from timelines.pages.pictures import attachment_url
from timelines.pages.presenters import Json
from timelines.posts.post import MediaAttachment


def attachment_entity(attachment: MediaAttachment, site_url: str, post_id: PostId | None = None) -> Json:
    """Return a picture. Give the id of its post, or 0, if not everybody may see the picture."""
    x, y = attachment.focus
    width, height = attachment.width, attachment.height
    query = "" if post_id is None else link_query(f"{attachment.id}-{attachment.secret}", post_id)
    return {
        "id": str(attachment.id),
        "type": "image",
        "url": site_url + attachment_url(attachment, "full") + query,
        "preview_url": site_url + attachment_url(attachment, "small") + query,
        "remote_url": None,
        "preview_remote_url": None,
        "text_url": None,
        "meta": {
            "original": _size_json(width, height),
            "small": _size_json(*fitting_size((width, height), SMALL_MAX_PIXELS, SMALL_MAX_SIDE)),
            "focus": {"x": x, "y": y},
        },
        "description": attachment.alt or None,
        "blurhash": attachment.blurhash or None,
    }


def upload_entity(row: Media, site_url: str) -> Json:
    """Return an upload. Its URLs are null until it is encoded."""
    entity = attachment_entity(row.attachment, site_url, row.post)
    unready = {"url": None, "preview_url": None, "blurhash": None, "meta": {"focus": entity["meta"]["focus"]}}
    return entity if row.state == "ready" else entity | unready


def _size_json(width: int, height: int) -> Json:
    return {"width": width, "height": height, "size": f"{width}x{height}", "aspect": width / max(height, 1)}
