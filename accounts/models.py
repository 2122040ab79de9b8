"""The account as Django's authentication wants it: a model without a table, built from a Redis hash.

Nothing here reaches a database; there is none. Changes go through AccountService, so whatever would save
a model says so loudly.
"""

from functools import lru_cache
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models
from django.db.models.base import ModelState
from django.utils.translation import gettext_lazy as _

from accounts.domain import ACTIVE, AccountState, Author
from socialsite.ids import AccountId

NO_DATABASE_MESSAGE = "Accounts live in Redis: change them through accounts.services.AccountService."


class Account(AbstractBaseUser):
    """Facts of one account at one moment. `id` is an AccountId; times are Unix ms."""

    id = models.BigIntegerField(primary_key=True)
    handle = models.CharField(_("handle"), max_length=20, unique=True)
    display_name = models.CharField(_("display name"), max_length=50)
    bio = models.TextField(_("bio"), blank=True, default="")
    link = models.CharField(_("link"), max_length=300, blank=True, default="")
    created_ms = models.BigIntegerField(default=0)
    state = models.CharField(max_length=9, default=ACTIVE)
    is_staff = models.BooleanField(default=False)
    version = models.BigIntegerField(default=1)
    is_private = models.BooleanField(default=False)
    last_login = None  # sessions carry it

    USERNAME_FIELD = "handle"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        managed = False
        verbose_name = _("account")
        verbose_name_plural = _("accounts")

    def __str__(self) -> str:
        return f"@{self.handle}"

    def copy(self) -> "Account":
        """The same facts for somebody else to change: a tenth of what Django's constructor takes."""
        made = Account.__new__(Account)
        made.__dict__.update(self.__dict__, _state=ModelState())
        return made

    def get_session_auth_hash(self) -> str:
        """Django's, from the password's hash and the site's key alone; kept for those that come again."""
        return _session_auth_hash(self.password, settings.SECRET_KEY)

    @property
    def is_active(self) -> bool:  # type: ignore[override]
        return self.state == ACTIVE

    @property
    def author(self) -> Author:
        """The part that pages show beside posts."""
        state: AccountState = self.state  # type: ignore[assignment]
        facts = self.handle, self.display_name, state, self.version, self.is_private
        return Author(AccountId(self.id), *facts)

    def get_absolute_url(self) -> str:
        """The profile page; its address is part of the interface clients rely on."""
        return f"/@{self.handle}/"

    # What the base classes offer would need a database, or hash on the event loop.

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(NO_DATABASE_MESSAGE)

    async def asave(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(NO_DATABASE_MESSAGE)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(NO_DATABASE_MESSAGE)

    async def adelete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(NO_DATABASE_MESSAGE)

    def set_password(self, raw_password: str | None) -> NoReturn:
        raise NotImplementedError(NO_DATABASE_MESSAGE)

    def check_password(self, raw_password: str | None) -> NoReturn:
        raise NotImplementedError(NO_DATABASE_MESSAGE)

    async def acheck_password(self, raw_password: str | None) -> NoReturn:
        raise NotImplementedError(NO_DATABASE_MESSAGE)


@lru_cache(maxsize=4_096)
def _session_auth_hash(password: str, secret_key: str) -> str:
    return AbstractBaseUser.get_session_auth_hash(Account(password=password))
