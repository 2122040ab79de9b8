"""The entity Relationship (https://docs.joinmastodon.org/entities/Relationship/)."""

from socialsite.ids import AccountId
from socialsite.web.responses import format_iso_time
from timelines.graph.follow import Relationship
from timelines.pages.presenters import Json
from timelines.visibility.rights import NO_EXPIRY_MS


def relationship_entity(account_id: AccountId, relation: Relationship, *, requested_by: bool, endorsed: bool) -> Json:
    """Return the relation of the viewer to the account. A mute hides notifications, too."""
    return {
        "id": str(account_id),
        "following": relation.follows,
        "showing_reblogs": relation.follows and not relation.hides_boosts,
        "notifying": False,
        "languages": None,
        "followed_by": relation.is_followed,
        "blocking": relation.blocks,
        "blocked_by": relation.is_blocked,
        "muting": relation.mutes,
        "muting_notifications": relation.mutes,
        "muting_expires_at": mute_end_json(relation.muted_until_ms),
        "requested": relation.requested and not relation.follows,
        "requested_by": requested_by and not relation.is_followed,
        "domain_blocking": False,
        "endorsed": endorsed and relation.follows,
        "note": relation.note,
    }


def mute_end_json(until_ms: int | None) -> str | None:
    """Return the end of a mute, or None for a mute without an end."""
    return None if until_ms in (None, NO_EXPIRY_MS) else format_iso_time(until_ms)
