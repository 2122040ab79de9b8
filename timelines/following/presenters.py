"""Rows of accounts with the viewer's relation to each."""

from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest, get_viewer_id
from timelines.following.follow_requests import FollowRequestService
from timelines.following.service import FollowingService
from timelines.pages.presenters import author_json
from timelines.pages.responses import TemplateContext


async def accounts_with_follow_state(request: SiteRequest, accounts: list[Account]) -> list[TemplateContext]:
    """Return the accounts for timelines/_account.html, with the state of the viewer's follow."""
    me, followed, requested = get_viewer_id(request), set[AccountId](), set[AccountId]()
    if me is not None:
        followed, requested = await request.services.store.read(
            request.services[FollowingService].followed_among(me, [AccountId(each.id) for each in accounts]),
            request.services[FollowRequestService].requested_among(
                me, [AccountId(each.id) for each in accounts if each.is_private]
            ),
        )
    return [
        {
            **author_json(account),
            "bio": account.bio,
            "is_following": account.id in followed,
            "is_requested": account.id in requested - followed,
            "is_private": account.is_private,
        }
        for account in accounts
    ]
