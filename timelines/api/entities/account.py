"""The entity Account (https://docs.joinmastodon.org/entities/Account/)."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, assert_never
from urllib.parse import urlsplit

from accounts.domain import DefaultAudience
from accounts.models import Account
from accounts.profile_texts import LINK_FIELD, PROFILE_TEXTS, ProfileText, decode_fields
from socialsite.web.responses import format_iso_time
from timelines.api.entities.content import content_html, inline_html, link_html
from timelines.media.links import picture_link
from timelines.pages.presenters import Json, profile_url
from timelines.profiles.summaries import AccountSummary
from timelines.text.linkify import REL_ME

MISSING_AVATAR, MISSING_HEADER = "/static/avatars/missing.png", "/static/headers/missing.png"
"""The pictures of an account without its own. By the name `missing.png` clients know that there is none."""
VISIBILITY_BY_DEFAULT: Final[dict[DefaultAudience, str]] = {
    "public": "public",
    "unlisted": "unlisted",
    "followers": "private",
}
VIEW_AUDIT_LOG, MANAGE_REPORTS, MANAGE_SETTINGS, MANAGE_USERS = 0x4, 0x10, 0x40, 0x400
ROLE_IDS_AND_PERMISSIONS: Final = {
    "moderator": ("1", VIEW_AUDIT_LOG | MANAGE_REPORTS | MANAGE_USERS),
    "admin": ("2", VIEW_AUDIT_LOG | MANAGE_REPORTS | MANAGE_USERS | MANAGE_SETTINGS),
    "owner": ("3", 0x1),
}
"""Role -> its id and Mastodon's bits of permissions; the bit 1 stands for all."""
UNKNOWN: Final = {
    "id": "0", "display_name": "", "locked": False, "bot": False, "discoverable": None, "indexable": False,
    "noindex": False, "created_at": format_iso_time(0), "note": "", "followers_count": 0, "following_count": 0,
    "statuses_count": 0, "last_status_at": None, "fields": [],
}  # fmt: skip
"""The fields of an account elsewhere, of which the site knows only the address."""


def account_entity(summary: AccountSummary, site_url: str, needs_keys: bool = False) -> Json:
    """Return an account. Apps show the handle if `display_name` is empty. `needs_keys` is for `picture_link`."""
    author = summary.author
    url = site_url + profile_url(author.handle)
    avatar = site_url + (picture_link(author.avatar, "full", needs_keys) or MISSING_AVATAR)
    header = site_url + (picture_link(summary.header, "full", needs_keys) or MISSING_HEADER)
    entity: Json = {
        "id": str(author.id),
        "username": author.handle,
        "acct": author.handle,
        "display_name": "" if author.display_name == author.handle else author.display_name,
        "locked": author.private,
        "bot": summary.is_bot,
        "group": False,
        **({"limited": True} if author.limited else {}),
        "discoverable": summary.is_discoverable and not author.followers_only,
        "indexable": not author.followers_only,
        "noindex": author.followers_only,
        "hide_collections": False,
        "created_at": format_iso_time(summary.created_ms),
        "url": url,
        "uri": url,
        "avatar": avatar,
        "avatar_static": avatar,
        "avatar_description": "",
        "header": header,
        "header_static": header,
        "header_description": "",
        "followers_count": summary.followers,
        "following_count": summary.following,
        "statuses_count": summary.posts,
        "last_status_at": None if summary.last_post_ms is None else format_date(summary.last_post_ms),
        "emojis": [],
        "roles": [],
        **_texts(zip(PROFILE_TEXTS.values(), summary.texts, strict=True), site_url),
    }
    for text, value in zip(PROFILE_TEXTS.values(), summary.texts, strict=True):
        if text.kind == "moved" and value:
            entity["moved"] = _moved_entity(entity, value, site_url)
    return entity


def _texts(texts: Iterable[tuple[ProfileText, str]], site_url: str | None) -> Json:
    """Return the texts of a profile as HTML, or as they were typed if there is no URL of the site."""
    entity: Json = {"fields": []}
    for text, value in texts:
        match text.kind:
            case "text":
                entity[text.api_name or text.name] = value if site_url is None else content_html(value, site_url)
            case "link" if value:
                entity["fields"].append(_field(value if site_url is None else link_html(value, REL_ME)))
            case "fields":
                entity["fields"] += [
                    _field(
                        each.value if site_url is None else inline_html(each.value, site_url, rel=REL_ME),
                        each.name,
                        each.verified_ms,
                    )
                    for each in decode_fields(value)
                    if each.value
                ]
            case "name" | "link" | "moved":  # `account_entity` has the name and the new profile
                pass
            case _:
                assert_never(text.kind)
    return entity


def _moved_entity(entity: Json, url: str, site_url: str) -> Json:
    """Return the new account of a profile that has moved."""
    parts = urlsplit(url)
    username = parts.path.rstrip("/").rpartition("/")[2].removeprefix("@") or parts.netloc
    names = {"username": username, "acct": username if url.startswith(f"{site_url}/") else f"{username}@{parts.netloc}"}
    avatar, header = site_url + MISSING_AVATAR, site_url + MISSING_HEADER
    pictures = {"avatar": avatar, "avatar_static": avatar, "header": header, "header_static": header}
    return entity | UNKNOWN | names | pictures | {"url": url, "uri": url}


def credential_account_entity(
    summary: AccountSummary, account: Account, follow_requests: int, site_url: str, needs_keys: bool = False
) -> Json:
    """Return the account of the token, with the values of its forms. It has no cached counts."""
    preferences = account.preferences
    return account_entity(summary, site_url, needs_keys) | {
        "source": {
            "privacy": default_visibility(account),
            "sensitive": preferences.marks_sensitive,
            "language": preferences.language,
            "quote_policy": preferences.quote_policy,
            **_texts(account.texts.items(), None),
            "follow_requests_count": follow_requests,
            "hide_collections": False,
            "discoverable": preferences.is_discoverable and not account.is_private,
            "indexable": not account.is_private,
            "attribution_domains": [],
        },
        "role": _role_entity(account),
    }


def default_visibility(account: Account) -> str:
    """Return the visibility of new posts unless their writer chooses another."""
    return "private" if account.is_private else VISIBILITY_BY_DEFAULT[account.preferences.audience]


def profile_entity(account: Json) -> Json:
    """Return the entity Profile of a `credential_account_entity`, with the texts as they were typed."""
    source = account["source"]
    settings = "privacy", "sensitive", "language", "quote_policy", "follow_requests_count"
    own = {name: value for name, value in source.items() if name not in settings}
    same = ("id", "display_name", "avatar", "avatar_static", "avatar_description", "header", "header_static",
            "header_description", "locked", "bot")  # fmt: skip
    shown = dict.fromkeys(("show_media", "show_media_replies", "show_featured"), True)
    return {name: account[name] for name in same} | own | shown


def format_date(ms: int) -> str:
    """Return the day (UTC) of a time in Unix ms, as in "2026-11-20"."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d}"


def _field(value: str, name: str = LINK_FIELD, verified_ms: int = 0) -> Json:
    return {"name": name, "value": value, "verified_at": format_iso_time(verified_ms) if verified_ms else None}


def _role_entity(account: Account) -> Json:
    """Return the role of staff (https://docs.joinmastodon.org/entities/Role/). An account without one has id -99."""
    id, permissions = ROLE_IDS_AND_PERMISSIONS.get(account.role, ("-99", 0))
    return {
        "id": id,
        "name": account.role,
        "color": "",
        "permissions": str(permissions),
        "highlighted": bool(permissions),
    }
