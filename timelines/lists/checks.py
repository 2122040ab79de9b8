"""What a list may be told: its title, whose answers it shows, what it is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from timelines.errors import ListInvalid, ListIsVirtual, ListTitleInvalid
from timelines.ids import ListId
from timelines.lists.account_list import (
    OPERATIONS,
    REPLY_POLICIES,
    TITLE_MAX_GRAPHEMES,
    AccountList,
    ReplyPolicy,
    normalize_title,
)
from timelines.lists.algebra import MAX_LEAVES, MAX_LEVELS, MAX_PARTS, MIN_PARTS, InvalidExpression, validate_parts


def validate_title(title: str) -> str:
    """The title as it is stored. Raises ListTitleInvalid."""
    try:
        return normalize_title(title)
    except ValueError:
        message = _("A title is one line of 1 to %(most)d characters.") % {"most": TITLE_MAX_GRAPHEMES}
        raise ListTitleInvalid(message) from None


def validate_replies(replies: str) -> ReplyPolicy:
    """Raises ListInvalid."""
    if replies not in REPLY_POLICIES:
        raise ListInvalid({"replies": _("This is none of the choices.")})
    return replies


def with_parts(
    found: AccountList, operation: str, parts: Sequence[ListId], known: Mapping[ListId, AccountList]
) -> AccountList:
    """The list as made of `parts`, which are among the `known` lists of its owner. Raises ListInvalid.

    A part that was deleted since may stay: it is said on the list's page.
    """
    if operation not in OPERATIONS:
        raise ListInvalid({"operation": _("This is none of the choices.")})
    if not set(parts) <= known.keys() | set(found.parts):
        raise ListInvalid({"parts": _("This list does not exist.")})
    made = replace(found, operation=operation, parts=tuple(parts))
    try:
        validate_parts(made, known)
    except InvalidExpression as refused:
        raise ListInvalid({"parts": _words(refused)}) from None
    return made


def require_own_members(found: AccountList) -> None:
    """Raises ListIsVirtual."""
    if found.operation is not None:
        raise ListIsVirtual


def require_virtual(found: AccountList) -> None:
    """Raises ListInvalid: people who were put on a list by hand stay on it."""
    if found.operation is None:
        raise ListInvalid({"operation": _("This list has members of its own.")})


def validate_exclusive(found: AccountList, exclusive: bool) -> None:
    """Raises ListInvalid."""
    if exclusive and found.operation is not None:
        message = _("A list that is made of others cannot take people out of home; those others can.")
        raise ListInvalid({"exclusive": message})


def _words(refused: InvalidExpression) -> str:
    match refused.reason:
        case "parts":
            return _("Choose %(least)d to %(most)d different lists.") % {
                "least": MIN_PARTS,
                "most": MAX_PARTS,
            }
        case "circle":
            return _("A list cannot be made of itself.")
        case "levels":
            return _("Lists made of lists go %(most)d levels deep at most.") % {"most": MAX_LEVELS}
        case _:
            message = _("All in all a list can be made of %(most)d lists at most, those of its parts counted.")
            return message % {"most": MAX_LEAVES}
