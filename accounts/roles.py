"""The roles of staff, and the rights of each role (docs/reference/admin.md)."""

from collections.abc import Mapping
from typing import Final, Literal, Protocol

Role = Literal["", "moderator", "admin", "owner"]
Right = Literal["reports", "accounts", "sanctions", "audit_log", "operations", "site", "roles", "passwords"]
OWNER: Final = "owner"
ROLES: Final[tuple[Role, ...]] = ("moderator", "admin", "owner")
"""The roles of staff, the lowest first."""
MODERATOR_RIGHTS: Final[frozenset[Right]] = frozenset({"reports", "accounts", "sanctions", "audit_log"})
# A moderator sets no passwords, because that would open every account, with its posts for followers, to moderators.
ADMIN_RIGHTS: Final[frozenset[Right]] = MODERATOR_RIGHTS | {"operations", "site", "roles", "passwords"}
RIGHTS_BY_ROLE: Final[Mapping[str, frozenset[Right]]] = {
    "moderator": MODERATOR_RIGHTS,
    "admin": ADMIN_RIGHTS,
    "owner": ADMIN_RIGHTS,
}
"""An admin may give and take only the role of moderators (`may_change_role`)."""


class HasRole(Protocol):
    """An account with its role (accounts.models.Account)."""

    @property
    def role(self) -> str: ...


def has_right(account: HasRole | None, right: Right) -> bool:
    """Return whether the role of the account has the right. A visitor has none."""
    return account is not None and right in RIGHTS_BY_ROLE.get(account.role, frozenset())


def rank(role: str) -> int:
    """Return 0 for an account without a role, and a higher number for a higher role."""
    return ROLES.index(role) + 1 if role in ROLES else 0


def outranks(actor: HasRole, target: HasRole) -> bool:
    """Return whether staff may act on the account: on members, and on staff of a lower role."""
    return rank(actor.role) > rank(target.role)


def may_change_role(actor: HasRole, former_role: str, role: str) -> bool:
    """Return whether staff may replace a role by another: an owner every role, an admin only lower roles."""
    if not has_right(actor, "roles"):
        return False
    return actor.role == OWNER or max(rank(former_role), rank(role)) < rank(actor.role)
