"""Meeting: what a profile tells whoever looks at it of what the two have in common.

Three round trips for most: what the two are to each other, with the sizes of their sides; then whom both
know; then who these are. The first leaves with whatever else the page asks first, the second with its posts.
"""

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from functools import partial

from accounts.domain import AccountId, Author
from socialsite.store import Later, Question, Store, joined
from timelines.domain.follow import Acquaintance, Met
from timelines.domain.relation import Relation
from timelines.repositories.follows import Follows
from timelines.repositories.relations import Relations
from timelines.services.ports import Authors
from timelines.services.relations import RelationsService


@dataclass(frozen=True, slots=True)
class Meeting:
    """What the first round trip tells. `relation`: the viewer's to the account."""

    relation: Relation
    met: Met


class MeetingService:
    """Looks only. A visitor, or the account itself, meets nobody: FollowingService.counts says all."""

    def __init__(
        self,
        *,
        store: Store,
        relating: RelationsService,
        relations: Relations,
        follows: Follows,
        accounts: Authors,
    ) -> None:
        self._store = store
        self._relating = relating
        self._relations = relations
        self._follows = follows
        self._accounts = accounts

    def begin(self, viewer_id: AccountId, account_id: AccountId, now_ms: int) -> Awaitable[Meeting]:
        """Asked now, to be awaited later."""
        asked = joined(
            self._relating.relation_question(viewer_id, account_id, now_ms),
            self._follows.met_question(viewer_id, account_id),
        )
        return self._store.begin(
            Question(asked.commands, lambda replies: Meeting(*asked.understand(replies)))
        )

    def together(
        self, viewer_id: AccountId, account_id: AccountId, met: Met, limit: int
    ) -> Awaitable[tuple[Acquaintance, list[Author]]]:
        """What the viewer shares with an account, and the known followers as pages show them.

        Asked now, to be awaited later. Without those that are suspended, or that a block keeps apart.
        """
        asked = self._follows.begin_together(viewer_id, account_id, met, limit)
        return Later(partial(self._introduced, viewer_id, asked))

    async def _introduced(
        self, viewer_id: AccountId, together: Awaitable[Acquaintance]
    ) -> tuple[Acquaintance, list[Author]]:
        found = await together
        if not found.known:
            return found, []
        asked = self._relations.begin_apart(viewer_id, found.known)  # leaves together with the next line's
        authors, apart = await self._accounts.authors(found.known), await asked
        known = [id for id in found.known if id not in apart and id in authors and authors[id].is_visible]
        return replace(found, known=tuple(known)), [authors[id] for id in known]
