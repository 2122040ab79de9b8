"""The entities Instance, V1::Instance and Announcement (https://docs.joinmastodon.org/entities/Instance/)."""

from typing import NamedTuple

import msgspec
from django.conf import settings

from accounts.profile_texts import FIELDS_CAP, PROFILE_TEXTS
from socialsite import __version__
from socialsite.service_config import ServiceConfig
from socialsite.site.announcements import Announcement
from socialsite.site.rules import rule_text, rule_translations
from socialsite.site.settings import SiteSettings
from socialsite.web.responses import format_iso_time
from timelines.hashtags.followed import FOLLOWED_HASHTAGS_CAP
from timelines.keys import PINS_CAP
from timelines.media.media import ALT_MAX_LENGTH, MEDIA_PER_POST, UPLOAD_MAX_BYTES, UPLOAD_MAX_PIXELS, UPLOAD_TYPES
from timelines.pages.presenters import Json
from timelines.profiles.featured import FEATURED_HASHTAGS_CAP
from timelines.publishing.poll_form import MAX_DURATION_S, MIN_DURATION_S, OPTION_MAX_LENGTH
from timelines.text.paragraphs import paragraphs_html
from timelines.text.post_text import LINK_LENGTH

MASTODON_VERSION, API_VERSION = "4.5.0", 7
"""The version of Mastodon whose API the site offers. Clients choose their features by it."""
OPEN_MODES = frozenset({"open", "approval"})
"""Modes of `joining` in which anybody may ask for an account."""


class SiteInfo(NamedTuple):
    url: str
    settings: SiteSettings
    description: str
    email: str
    limits: ServiceConfig

    @property
    def host(self) -> str:
        return self.url.partition("://")[2]

    @property
    def socket_url(self) -> str:
        return self.url.replace("http", "ws", 1)


class SiteFigures(msgspec.Struct, frozen=True):
    accounts: int
    active_month: int
    posts: int


def instance_entity(site: SiteInfo, figures: SiteFigures, vapid_key: str) -> Json:
    is_open, needs_approval = site.settings.joining in OPEN_MODES, site.settings.joining == "approval"
    return {
        **_common_fields(site),
        "domain": site.host,
        "source_url": "",
        "usage": {"users": {"active_month": figures.active_month}},
        "thumbnail": {"url": f"{site.url}/static/icon-512.png", "blurhash": None, "versions": {}},
        "icon": [{"src": f"{site.url}/static/icon-{size}.png", "size": f"{size}x{size}"} for size in (192, 512)],
        "configuration": {
            "urls": {"streaming": site.socket_url, "status": None, "about": f"{site.url}/about/",
                     "privacy_policy": f"{site.url}/privacy/", "terms_of_service": f"{site.url}/terms/"},
            "vapid": {"public_key": vapid_key},
            "accounts": {"max_featured_tags": FEATURED_HASHTAGS_CAP, "max_pinned_statuses": PINS_CAP,
                         "max_profile_fields": 1 + FIELDS_CAP,  # the link and the fields
                         "profile_field_name_limit": PROFILE_TEXTS["fields"].limit,
                         "profile_field_value_limit": PROFILE_TEXTS["fields"].limit},
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
    }  # fmt: skip


def instance_v1_entity(site: SiteInfo, figures: SiteFigures) -> Json:
    """Return the instance as of version 1 of the API. Its number of posts counts the last two years."""
    return {
        **_common_fields(site),
        "uri": site.host,
        "short_description": site.description,
        "email": site.email,
        "urls": {"streaming_api": site.socket_url},
        "stats": {"user_count": figures.accounts, "status_count": figures.posts, "domain_count": 1},
        "thumbnail": f"{site.url}/static/icon-512.png",
        "registrations": site.settings.joining in OPEN_MODES,
        "approval_required": site.settings.joining == "approval",
        "invites_enabled": site.settings.members_invite,
        "configuration": {
            "accounts": {"max_featured_tags": FEATURED_HASHTAGS_CAP, "max_followed_tags": FOLLOWED_HASHTAGS_CAP},
            **_configuration(site),
        },
        "contact_account": None,
    }


def rule_entities(settings: SiteSettings) -> list[Json]:
    """Return the rules; the id of a rule is its number, as reports name it. The default rules have translations."""
    return [
        {
            "id": str(number),
            "text": rule_text(rule),
            "hint": "",
            "translations": {code: {"text": text, "hint": ""} for code, text in rule_translations(rule).items()},
        }
        for number, rule in enumerate(settings.rules, 1)
    ]


def announcement_entity(announcement: Announcement, is_dismissed: bool) -> Json:
    published = format_iso_time(announcement.published_ms)
    return {
        "id": str(announcement.id),
        "content": paragraphs_html(announcement.text),
        "starts_at": format_iso_time(announcement.starts_ms) if announcement.starts_ms else None,
        "ends_at": format_iso_time(announcement.ends_ms) if announcement.ends_ms else None,
        "all_day": False,
        "published_at": published,
        "updated_at": published,
        "read": is_dismissed,
        **{name: [] for name in ("mentions", "statuses", "tags", "emojis", "reactions")},
    }


def _configuration(site: SiteInfo) -> Json:
    """Return the limits of posts. The site has no videos, but clients require their limits."""
    return {
        "statuses": {
            "max_characters": site.limits.post_max_length,
            "max_media_attachments": MEDIA_PER_POST,
            "characters_reserved_per_url": LINK_LENGTH,
        },
        "media_attachments": {
            "supported_mime_types": UPLOAD_TYPES,
            "description_limit": ALT_MAX_LENGTH,
            "image_size_limit": UPLOAD_MAX_BYTES,
            "image_matrix_limit": UPLOAD_MAX_PIXELS,
            **dict.fromkeys(("video_size_limit", "video_frame_rate_limit", "video_matrix_limit"), 0),
        },
        "polls": {
            "max_options": site.limits.poll_max_options,
            "max_characters_per_option": OPTION_MAX_LENGTH,
            "min_expiration": MIN_DURATION_S,
            "max_expiration": MAX_DURATION_S,
        },
    }


def _common_fields(site: SiteInfo) -> Json:
    """Return the fields that both versions of the API have."""
    return {
        "title": site.settings.title,
        "version": f"{MASTODON_VERSION} (compatible; Socialsite {__version__})",
        "description": site.description,
        "languages": [code for code, _name in settings.LANGUAGES],
        "rules": rule_entities(site.settings),
    }
