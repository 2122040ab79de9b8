"""The URLs of pictures for apps, which send no token for files.

The URL of a picture of a post for followers has a key: everybody who has the URL may see the picture while the post
contains it. On a members-only site the URLs of all pictures have keys.
"""

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.domain import PictureSize, picture_url
from timelines.media.media import Media

KEY_LENGTH = 32


def link_query(name: str, post_id: int = 0) -> str:
    """Return the query of the URL of a picture. `post_id` is 0 for a picture without a post."""
    return f"?key={_key(name, post_id, settings.SECRET_KEY)}"


def picture_link(name: str, size: PictureSize, needs_key: bool) -> str:
    """Return the URL of an avatar or header as `picture_url`, with a key if the site is members-only."""
    url = picture_url(name, size)
    return url + link_query(name) if url and needs_key else url


def is_link_key(key: str, row: Media) -> bool:
    """Return whether the key is valid for this picture and the post that it belongs to now."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS) if key else ()  # without a key, no digest is needed
    return any(constant_time_compare(key, _key(row.name, row.post, secret)) for secret in secrets)


def _key(name: str, post_id: int, secret: str) -> str:
    digest = salted_hmac("timelines.media.links", f"{name} {post_id}", secret, algorithm="sha256")
    return digest.hexdigest()[:KEY_LENGTH]
