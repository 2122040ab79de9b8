"""Validation of the settings of a list: title, reply policy, parts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from timelines.errors import ListInvalid, ListIsVirtual, ListTitleInvalid
from timelines.ids import ListId
from timelines.lists.account_list import (
    DESCRIPTION_MAX_GRAPHEMES,
    OPERATIONS,
    PUBLIC_LISTS_PER_ACCOUNT,
    PUBLIC_MEMBERS_CAP,
    REPLY_POLICIES,
    TITLE_MAX_GRAPHEMES,
    AccountList,
    ReplyPolicy,
    normalize_title,
)
from timelines.lists.algebra import MAX_LEAVES, MAX_LEVELS, MAX_PARTS, MIN_PARTS, InvalidExpression, validate_parts
from timelines.text.post_text import check_text


def validate_title(title: str) -> str:
    """Return the stored form of a title. Raises ListTitleInvalid."""
    try:
        return normalize_title(title)
    except ValueError:
        message = _("A title is one line of 1 to %(most)d characters.") % {"most": TITLE_MAX_GRAPHEMES}
        raise ListTitleInvalid(message) from None


def validate_description(description: str) -> str:
    """Return the stored form of a description. Raises ListInvalid."""
    try:
        return check_text(description, DESCRIPTION_MAX_GRAPHEMES) if description.strip() else ""
    except ValueError:
        message = _("A description has at most %(most)d characters.") % {"most": DESCRIPTION_MAX_GRAPHEMES}
        raise ListInvalid({"description": message}) from None


def validate_public(account_list: AccountList, members: int, others: int) -> None:
    """Raise ListInvalid if the list may not be public. `others` is the number of its owner's other public lists."""
    if account_list.operation is not None:
        raise ListInvalid({"public": _("A combined list cannot be public.")})
    if members > PUBLIC_MEMBERS_CAP:
        message = _("A public list has at most %(most)d members.") % {"most": PUBLIC_MEMBERS_CAP}
        raise ListInvalid({"public": message})
    if others >= PUBLIC_LISTS_PER_ACCOUNT:
        message = _("An account has at most %(most)d public lists.") % {"most": PUBLIC_LISTS_PER_ACCOUNT}
        raise ListInvalid({"public": message})


def validate_replies(replies: str) -> ReplyPolicy:
    """Return the reply policy. Raises ListInvalid if the text is not a policy."""
    if replies not in REPLY_POLICIES:
        raise ListInvalid({"replies": _("This is not one of the choices.")})
    return replies


def with_parts(
    account_list: AccountList, operation: str, parts: Sequence[ListId], known: Mapping[ListId, AccountList]
) -> AccountList:
    """Return the list with these parts. Raises ListInvalid if a part is not among the `known` lists of its owner.

    A current part that was deleted meanwhile may stay; the page of the list shows it.
    """
    if operation not in OPERATIONS:
        raise ListInvalid({"operation": _("This is not one of the choices.")})
    if not set(parts) <= known.keys() | set(account_list.parts):
        raise ListInvalid({"parts": _("This list does not exist.")})
    virtual_list = replace(account_list, operation=operation, parts=tuple(parts))
    try:
        validate_parts(virtual_list, known)
    except InvalidExpression as error:
        raise ListInvalid({"parts": _describe(error)}) from None
    return virtual_list


def require_own_members(account_list: AccountList) -> None:
    """Raise ListIsVirtual if the list is virtual."""
    if account_list.operation is not None:
        raise ListIsVirtual


def require_virtual(account_list: AccountList) -> None:
    """Raise ListInvalid if the list has members of its own, because it cannot become virtual."""
    if account_list.operation is None:
        raise ListInvalid({"operation": _("This list has members of its own.")})


def validate_exclusive(account_list: AccountList, exclusive: bool) -> None:
    """Raise ListInvalid if the list may not have this value of `exclusive`."""
    if exclusive and account_list.operation is not None:
        message = _("A combined list cannot hide people from Home. The lists it combines can.")
        raise ListInvalid({"exclusive": message})


def _describe(error: InvalidExpression) -> str:
    match error.reason:
        case "parts":
            return _("Choose %(least)d to %(most)d different lists.") % {"least": MIN_PARTS, "most": MAX_PARTS}
        case "circle":
            return _("A list cannot combine itself.")
        case "levels":
            return _("Combined lists can be nested at most %(most)d levels deep.") % {"most": MAX_LEVELS}
        case _:
            message = _("A combined list can have at most %(most)d lists in total, nested ones included.")
            return message % {"most": MAX_LEAVES}
