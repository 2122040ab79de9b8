"""What belongs on a list's timeline: whose posts, and which of their answers; of real lists and virtual ones.

Everything is looked at with the page or the live entry that it decides about, never remembered.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from socialsite.ids import AccountId
from socialsite.store import Read, Reply
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.lists.account_list import AccountList
from timelines.lists.algebra import MAX_LEVELS, InvalidExpression, ListExpression, build_expression
from timelines.lists.repository import ListMembers, Lists
from timelines.visibility.rights import AllowedAuthors

EMPTY_EXPRESSION = ListExpression("union", ())


@dataclass(slots=True)
class ListRules:
    """Reads the rule of a list: one round trip, and one more for each level of lists made of lists."""

    lists: Lists
    members: ListMembers
    follows: Follows

    async def find(self, list_id: ListId) -> "ListRule":
        """Of a list that does not stand: nobody's posts."""
        found = await self.lists.find(list_id)
        if found is None:
            return ListRule(list_id, None, EMPTY_EXPRESSION, self.members, self.follows)
        return await self.load(found)

    async def load(self, found: AccountList) -> "ListRule":
        made = None if found.operation is None else await self._made(found)
        return ListRule(found.id, found, made, self.members, self.follows)

    async def load_many(self, lists: Iterable[AccountList]) -> list["ListRule"]:
        """Of lists of one owner, the parts of all of them read together."""
        lists = list(lists)
        known = await self._known(lists)
        return [ListRule(each.id, each, _expression(each, known), self.members, self.follows) for each in lists]

    async def _made(self, found: AccountList) -> ListExpression:
        return _expression(found, await self._known([found])) or EMPTY_EXPRESSION

    async def _known(self, lists: Sequence[AccountList]) -> dict[ListId, AccountList]:
        """The lists and what they are made of, level by level."""
        known = {each.id: each for each in lists}
        level = list(lists)
        for _ in range(MAX_LEVELS):
            wanted = {part for each in level for part in each.parts} - known.keys()
            if not wanted:
                break
            level = [each for each in await self.lists.find_many(sorted(wanted)) if each is not None]
            known |= {each.id: each for each in level}
        return known


@dataclass(frozen=True, slots=True)
class ListRule:
    """`made` is None for a list with members of its own."""

    list_id: ListId
    account_list: AccountList | None
    expression: ListExpression | None
    _members: ListMembers
    _follows: Follows

    @property
    def leaves(self) -> tuple[ListId, ...]:
        """The lists with members that it comes down to."""
        return (self.list_id,) if self.expression is None else self.expression.leaves

    @property
    def missing_parts(self) -> tuple[ListId, ...]:
        """Lists it was made of that are deleted."""
        return () if self.expression is None else self.expression.all_missing

    def read_member_authors(self, authors: Collection[AccountId]) -> Read[set[AccountId]]:
        """Those of `authors` whose posts belong here."""
        questions = [self._members.members_among(leaf, authors) for leaf in self.leaves]

        def understand(replies: Sequence[Reply]) -> set[AccountId]:
            on: dict[ListId, set[AccountId]] = {}
            start = 0
            for leaf, question in zip(self.leaves, questions, strict=True):
                end = start + len(question.commands)
                on[leaf] = question.parse(replies[start:end])
                start = end
            return on[self.list_id] if self.expression is None else self.expression.members(on)

        return Read([command for each in questions for command in each.commands], understand)

    @property
    def reply_rights(self) -> AllowedAuthors | None:
        """Which of some accounts may be answered in posts that are shown here; None: all of them."""
        match self.account_list.replies if self.account_list is not None else "all":
            case "members":
                return self.read_member_authors
            case "followed":
                return self._followed
            case "none":
                return read_nobody
        return None

    async def member_ids(self) -> list[AccountId]:
        """Everybody on the list, in no order."""
        if self.expression is None:
            return await self._members.member_ids(self.list_id)
        on = {leaf: await self._members.member_ids(leaf) for leaf in self.leaves}
        return list(self.expression.members(on))

    def _followed(self, accounts: Collection[AccountId]) -> Read[set[AccountId]]:
        assert self.account_list is not None
        return self._follows.followed_among(self.account_list.owner_id, accounts)


def read_nobody(accounts: Collection[AccountId]) -> Read[set[AccountId]]:
    """Rights that nobody has."""
    return Read((), lambda _: set())


def _expression(found: AccountList, known: dict[ListId, AccountList]) -> ListExpression | None:
    if found.operation is None:
        return None
    try:
        return build_expression(found, known)
    except InvalidExpression:  # two edits at once have made a circle: nobody, until it is edited again
        return EMPTY_EXPRESSION
