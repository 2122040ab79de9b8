"""Helpers to fill Alice's lists: she may have few lists, with few members."""

from socialsite.ids import AccountId
from timelines.ids import ListId
from timelines.lists.service import ListService

ALICE, BOB, CAROL = map(AccountId, (1, 2, 3))
LISTS_CAP, MEMBERS_CAP = 3, 5


async def add_member(service: ListService, list_id: ListId, account_id: int) -> bool:
    return await service.add_member(owner_id=ALICE, list_id=list_id, account_id=AccountId(account_id), now_ms=1000)
