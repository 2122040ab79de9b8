"""Actions on another account, which the pages and the API share."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from socialsite.ids import AccountId
from socialsite.service import Service
from socialsite.web.requests import SiteRequest
from timelines.following.blocks_and_mutes import BlocksAndMutesService as Relations
from timelines.following.follow_requests import FollowRequestService as Requests
from timelines.following.service import FollowingService

S = TypeVar("S", bound=Service)
RelationAction = Callable[[SiteRequest, AccountId, AccountId], Awaitable[object]]
"""(request, viewer, other account) -> anything."""


def _call(
    service: type[S], method: Callable[..., Awaitable[object]], me: str = "account_id", other: str = "other_id",
    *, is_timed: bool = False,
) -> RelationAction:  # fmt: skip
    """Return the call of a method of a service, with the names of its arguments. `is_timed` adds `now_ms`."""

    def act(request: SiteRequest, me_id: AccountId, other_id: AccountId) -> Awaitable[object]:
        time = {"now_ms": request.services.clock.now_ms()} if is_timed else {}
        return method(request.services[service], **{me: me_id, other: other_id}, **time)

    return act


ACTIONS: Final[Mapping[str, RelationAction]] = {
    "unfollow": _call(FollowingService, FollowingService.unfollow, "follower_id", "followed_id"),
    "remove_follower": _call(Relations, Relations.remove_follower, other="follower_id"),
    "block": _call(Relations, Relations.block, is_timed=True),
    "unblock": _call(Relations, Relations.unblock),
    "unmute": _call(Relations, Relations.unmute),
    "hide_boosts": _call(Relations, Relations.hide_boosts, is_timed=True),
    "show_boosts": _call(Relations, Relations.show_boosts),
    "accept": _call(Requests, Requests.accept, other="requester_id", is_timed=True),
    "refuse": _call(Requests, Requests.refuse, other="requester_id"),
}
