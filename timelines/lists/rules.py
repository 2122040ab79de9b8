"""Decides which posts are on a list's timeline: by the author, and for replies by the account that is answered.

The rule of a list is read for each page and each live entry. It is never cached.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from socialsite.ids import AccountId
from socialsite.store import Read, combine
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.algebra import MAX_LEVELS, InvalidExpression, ListExpression, build_expression
from timelines.lists.repository import ListMembers, Lists
from timelines.visibility.rights import AllowedAuthors

EMPTY_EXPRESSION = ListExpression("union", ())


@dataclass(slots=True)
class ListRules:
    """Reads the rules of lists in one round trip, and one more for each level of virtual lists."""

    lists: Lists
    members: ListMembers
    follows: Follows

    async def find(self, list_id: ListId) -> "ListRule":
        """Return the rule of a list. The rule of an absent list allows no posts."""
        account_list = await self.lists.find(list_id)
        if account_list is None:
            return ListRule(list_id, None, EMPTY_EXPRESSION, self.members, self.follows)
        return await self.load(account_list)

    async def load(self, account_list: AccountList) -> "ListRule":
        (rule,) = await self.load_many([account_list])
        return rule

    async def load_many(self, lists: Iterable[AccountList]) -> list["ListRule"]:
        """Return the rules of lists of one owner. The parts of all lists are read together."""
        lists = list(lists)
        by_id = await self._load_parts(lists)
        return [ListRule(each.id, each, _build_expression(each, by_id), self.members, self.follows) for each in lists]

    async def _load_parts(self, lists: Sequence[AccountList]) -> dict[ListId, AccountList]:
        """Return the lists and all their parts. Parts are read level by level."""
        by_id = {each.id: each for each in lists}
        level = list(lists)
        for _ in range(MAX_LEVELS):
            part_ids = {part for each in level for part in each.parts} - by_id.keys()
            if not part_ids:
                break
            level = [each for each in await self.lists.find_many(sorted(part_ids)) if each is not None]
            by_id |= {each.id: each for each in level}
        return by_id


@dataclass(frozen=True, slots=True)
class ListRule:
    """The rule of one list. `expression` is None for a list with members of its own."""

    list_id: ListId
    account_list: AccountList | None
    expression: ListExpression | None
    _members: ListMembers
    _follows: Follows

    @property
    def leaves(self) -> tuple[ListId, ...]:
        """The lists with members of their own from which the rule derives its members."""
        return (self.list_id,) if self.expression is None else self.expression.leaves

    @property
    def missing_parts(self) -> tuple[ListId, ...]:
        """The parts of a virtual list that are deleted."""
        return () if self.expression is None else self.expression.all_missing

    def read_member_authors(self, authors: Collection[AccountId]) -> Read[set[AccountId]]:
        """Read the members among `authors`, whose posts are on the timeline."""
        leaves, expression = self.leaves, self.expression
        if not leaves:
            return read_nobody(authors)

        def combine_leaves(members: list[set[AccountId]]) -> set[AccountId]:
            return members[0] if expression is None else expression.members(dict(zip(leaves, members, strict=True)))

        return combine(*(self._members.members_among(leaf, authors) for leaf in leaves)).map(combine_leaves)

    @property
    def reply_rights(self) -> AllowedAuthors | None:
        """A function that reads which accounts the replies on the timeline may answer. None allows all accounts."""
        match self.account_list.replies if self.account_list is not None else "all":
            case "members":
                return self.read_member_authors
            case "followed":
                return self._read_followed
            case "none":
                return read_nobody
        return None

    async def member_ids(self) -> list[AccountId]:
        """Return all members in no particular order."""
        if self.expression is None:
            return await self._members.member_ids(self.list_id)
        return list(self.expression.members(await self._members.member_ids_of(self.leaves)))

    def _read_followed(self, accounts: Collection[AccountId]) -> Read[set[AccountId]]:
        assert self.account_list is not None
        return self._follows.followed_among(self.account_list.owner_id, accounts)


def read_nobody(accounts: Collection[AccountId]) -> Read[set[AccountId]]:
    return Read((), lambda _: set())


def _build_expression(account_list: AccountList, lists: dict[ListId, AccountList]) -> ListExpression | None:
    if account_list.operation is None:
        return None
    try:
        return build_expression(account_list, lists)
    except InvalidExpression:  # two concurrent edits have made a cycle; the list has no members until the next edit
        return EMPTY_EXPRESSION
