"""The entities Instance and V1::Instance (https://docs.joinmastodon.org/entities/Instance/)."""

import msgspec

from socialsite import __version__
from socialsite.site.settings import SiteSettings
from timelines.hashtags.followed import FOLLOWED_HASHTAGS_CAP
from timelines.media.media import ALT_MAX_LENGTH, MEDIA_PER_POST, UPLOAD_MAX_BYTES, UPLOAD_MAX_PIXELS, UPLOAD_TYPES
from timelines.pages.presenters import Json
from timelines.pins.repository import PINS_CAP
from timelines.publishing.polls import MAX_DURATION_S, MIN_DURATION_S, OPTION_MAX_LENGTH

MASTODON_VERSION, API_VERSION = "4.5.0", 7
"""The version of Mastodon whose API the site offers. Clients choose their features by it."""
OPEN_MODES = frozenset({"open", "approval"})
"""Modes of `joining` in which anybody may ask for an account."""
LINK_LENGTH = 23
"""Clients count each link with so many characters. A shorter link never makes a post too long here."""


class SiteInfo(msgspec.Struct, frozen=True):
    """What the operator and staff have set."""

    host: str
    url: str
    socket_url: str
    settings: SiteSettings
    description: str
    email: str
    languages: tuple[str, ...]
    post_max_length: int
    poll_max_options: int


class SiteFigures(msgspec.Struct, frozen=True):
    accounts: int
    active_month: int
    posts: int


def instance_entity(site: SiteInfo, figures: SiteFigures, vapid_key: str) -> Json:
    is_open, needs_approval = site.settings.joining in OPEN_MODES, site.settings.joining == "approval"
    return {
        "domain": site.host,
        "title": site.settings.title,
        "version": _version(),
        "source_url": "",
        "description": site.description,
        "usage": {"users": {"active_month": figures.active_month}},
        "thumbnail": {"url": f"{site.url}/static/icon-512.png", "blurhash": None, "versions": {}},
        "icon": [{"src": f"{site.url}/static/icon-{size}.png", "size": f"{size}x{size}"} for size in (192, 512)],
        "languages": site.languages,
        "configuration": {
            "urls": {"streaming": site.socket_url, "status": None, "about": f"{site.url}/about/",
                     "privacy_policy": f"{site.url}/privacy/", "terms_of_service": f"{site.url}/terms/"},
            "vapid": {"public_key": vapid_key},
            "accounts": {"max_featured_tags": 0, "max_pinned_statuses": PINS_CAP, "max_profile_fields": 1,
                         "profile_field_name_limit": 0, "profile_field_value_limit": 300},
            **_configuration(site),
            "translation": {"enabled": False},
            "timelines_access": {
                kind: {"local": "authenticated" if site.settings.members_only else "public", "remote": "disabled"}
                for kind in ("live_feeds", "hashtag_feeds", "trending_link_feeds")
            },
            "limited_federation": True,
        },
        "registrations": {"enabled": is_open, "approval_required": needs_approval, "reason_required": needs_approval,
                          "message": None, "min_age": None, "url": None},
        "api_versions": {"mastodon": API_VERSION},
        "contact": {"email": site.email, "account": None},
        "rules": rule_entities(site.settings),
    }  # fmt: skip


def instance_v1_entity(site: SiteInfo, figures: SiteFigures) -> Json:
    """Return the instance as of version 1 of the API. Its number of posts counts the last two years."""
    return {
        "uri": site.host,
        "title": site.settings.title,
        "short_description": site.description,
        "description": site.description,
        "email": site.email,
        "version": _version(),
        "urls": {"streaming_api": site.socket_url},
        "stats": {"user_count": figures.accounts, "status_count": figures.posts, "domain_count": 1},
        "thumbnail": f"{site.url}/static/icon-512.png",
        "languages": site.languages,
        "registrations": site.settings.joining in OPEN_MODES,
        "approval_required": site.settings.joining == "approval",
        "invites_enabled": site.settings.members_invite,
        "configuration": {
            "accounts": {"max_featured_tags": 0, "max_followed_tags": FOLLOWED_HASHTAGS_CAP},
            **_configuration(site),
        },
        "contact_account": None,
        "rules": rule_entities(site.settings),
    }


def rule_entities(settings: SiteSettings) -> list[Json]:
    """Return the rules; the id of a rule is its number, as reports name it."""
    return [{"id": str(number), "text": text, "hint": ""} for number, text in enumerate(settings.rules, 1)]


def _configuration(site: SiteInfo) -> Json:
    """Return the limits of posts. The site has no videos, but clients require their limits."""
    return {
        "statuses": {
            "max_characters": site.post_max_length,
            "max_media_attachments": MEDIA_PER_POST,
            "characters_reserved_per_url": LINK_LENGTH,
        },
        "media_attachments": {
            "supported_mime_types": UPLOAD_TYPES,
            "description_limit": ALT_MAX_LENGTH,
            "image_size_limit": UPLOAD_MAX_BYTES,
            "image_matrix_limit": UPLOAD_MAX_PIXELS,
            "video_size_limit": 0,
            "video_frame_rate_limit": 0,
            "video_matrix_limit": 0,
        },
        "polls": {
            "max_options": site.poll_max_options,
            "max_characters_per_option": OPTION_MAX_LENGTH,
            "min_expiration": MIN_DURATION_S,
            "max_expiration": MAX_DURATION_S,
        },
    }


def _version() -> str:
    return f"{MASTODON_VERSION} (compatible; Socialsite {__version__})"
