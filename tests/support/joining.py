"""Sign-ups of applicants and staff, and the queue of applications."""

from accounts.models import Account
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from tests.support.visitor import PASSWORD

CALLER = Caller(None, "192.0.2.7")
REASON = "I would like to talk about trains with others."


async def sign_up(
    services: Services, handle: str, *, code: str = "", reason: str = REASON, address: str = "", caller: Caller = CALLER
) -> Account:
    return await services.joining.sign_up(
        handle=handle, password=PASSWORD, display_name="", code=str(code), reason=reason, address=address, caller=caller
    )


async def make_staff(services: Services, handle: str = "sam") -> Account:
    account = await services.accounts.sign_up(
        handle=handle, password=PASSWORD, now_ms=services.clock.now_ms(), staff=True, allow_reserved=True
    )
    return await services.accounts.get(AccountId(account.id))


async def queue_of(services: Services) -> list[str]:
    page, _next = await services.joining.waiting(0, 50)
    return [each.author.handle for each in page]


async def state_of(services: Services, handle: str) -> str:
    account = await services.accounts.find_by_handle(handle)
    return "" if account is None else account.state
