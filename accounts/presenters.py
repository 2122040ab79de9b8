"""Accounts in JSON (docs/reference/interface.md). Ids are strings, times are ISO 8601."""

from accounts.domain import Preferences, picture_url
from accounts.models import Account
from accounts.profile_texts import ProfileField
from socialsite.web.responses import format_iso_time


def account_json(account: Account) -> dict[str, object]:
    """Return the public fields of an account. A profile adds its counts."""
    return {
        "id": str(account.id),
        "handle": account.handle,
        "url": account.get_absolute_url(),
        **texts_json(account),
        "private": account.is_private,
        "discoverable": account.preferences.is_discoverable,
        "created_at": format_iso_time(account.created_ms),
        **pictures_json(account),
    }


def texts_json(account: Account) -> dict[str, object]:
    """Return the texts of the profile. The address of a new profile and the fields are left out if they are empty."""
    texts = {text.name: value for text, value in account.texts.items() if value or text.kind not in ("moved", "fields")}
    return texts | ({"fields": list(map(_field_json, account.filled_fields))} if account.fields else {})


def _field_json(field: ProfileField) -> dict[str, str | None]:
    verified_at = format_iso_time(field.verified_ms) if field.verified_ms else None
    return {"name": field.name, "value": field.value, "verified_at": verified_at}


def preferences_json(preferences: Preferences) -> dict[str, object]:
    """Return the choices of an account for reading and writing posts. No `languages` means all."""
    return {
        "open_warnings": preferences.opens_warnings,
        "language": preferences.language,
        "languages": preferences.languages,
        "quote_policy": preferences.quote_policy,
        "show_replies": preferences.shows_replies,
    }


def pictures_json(account: Account) -> dict[str, str]:
    """Return the URLs of the avatar and the header, without those that the account lacks."""
    names = {"avatar": account.avatar, "header": account.header}
    return {kind: picture_url(name, "full") for kind, name in names.items() if name}
