"""Django's authentication backend: handle and password, natively async.

The synchronous half exists because Django reads its signature; it refuses, as it could only block the loop.
"""

from typing import NoReturn

from django.core.exceptions import SynchronousOnlyOperation
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from accounts import current
from accounts.models import Account
from socialsite.ids import AccountId

ASYNC_ONLY_MESSAGE = "Accounts are async: use aauthenticate, aget_user, alogin and alogout."


class HandleBackend:
    @sensitive_variables("password")
    async def aauthenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None
    ) -> Account | None:
        if username is None or password is None:
            return None
        return await current.get_account_service().authenticate(username, password)

    async def aget_user(self, user_id: int) -> Account | None:
        account = await current.get_account_service().find(AccountId(user_id))
        return account if account and account.is_active else None

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None
    ) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    def get_user(self, user_id: int) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)
