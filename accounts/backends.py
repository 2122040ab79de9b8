"""Django's authentication backend by handle and password, natively async.

The synchronous methods exist because Django reads their signatures. They raise an error, since they would block the
event loop.
"""

from typing import NoReturn

from django.core.exceptions import SynchronousOnlyOperation
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from accounts.accounts.service import AccountService
from accounts.errors import InvalidCredentials
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.web.services import loop_services

ASYNC_ONLY_MESSAGE = "Accounts are async: use aauthenticate, aget_user, alogin and alogout."


class HandleBackend:
    @sensitive_variables("password")
    async def aauthenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None
    ) -> Account | None:
        if username is None or password is None:
            return None
        try:
            return await loop_services.current()[AccountService].authenticate(username, password)
        except InvalidCredentials:
            return None

    async def aget_user(self, user_id: int) -> Account | None:
        account = await loop_services.current()[AccountService].find(AccountId(user_id))
        return account if account and account.is_active else None

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None
    ) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)

    def get_user(self, user_id: int) -> NoReturn:
        raise SynchronousOnlyOperation(ASYNC_ONLY_MESSAGE)
