"""The account as a Django model without a table, for Django's authentication. A Redis hash contains its fields.

AccountService changes accounts. The model's methods that would write to a database raise NotImplementedError.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models
from django.db.models.base import ModelState
from django.utils.translation import gettext_lazy as _

from accounts.domain import ACTIVE, SUSPENDED, AccountState, Author, Preferences, decode_preferences
from accounts.profile_texts import PROFILE_TEXTS, ProfileField, ProfileText, decode_fields, split_texts
from socialsite.errors import LazyText
from socialsite.ids import AccountId

NO_DATABASE_MESSAGE = "Accounts live in Redis: change them through AccountService."
NAME_ERRORS = {
    "empty": _("Please enter a name."),
    "too_long": _("A name has at most 50 characters."),
    "characters": _("This name has characters that cannot be shown."),
}
BIO_ERRORS = {
    "too_long": _("A bio has at most 500 characters."),
    "characters": _("This bio has characters that cannot be shown."),
}
LINK_ERRORS = {
    "too_long": _("A link has at most 300 characters."),
    "link": _("Enter a web address that starts with https:// or http://."),
}
FIELD_ERRORS = {
    "no_name": _("Please enter a label for this content."),
    "no_value": _("Please enter a content for this label."),
    "too_long": _("This has at most 255 characters."),
    "characters": _("This has characters that cannot be shown."),
    "too_many": _("A profile has at most four fields."),
}
MOVED_HINT = _("If you have moved: the address of your new profile. Your profile here then leads to it.")
FIELDS_HINT = _(
    "For example your pronouns or your website. A link with https:// is marked as verified if its page "
    'has a link with rel="me" to your profile. The page is checked when you save, at most once an hour.'
)


class Account(AbstractBaseUser):
    """The fields of one account at the time of the read. `id` is an AccountId; times are Unix ms."""

    id = models.BigIntegerField(primary_key=True)
    handle = models.CharField(_("handle"), max_length=20, unique=True)
    display_name = ProfileText(
        _("Name"), "name", limit=50, hint=_("At most 50 characters."), errors=NAME_ERRORS, activity_name="name"
    )
    bio = ProfileText(
        _("Bio"), "text", limit=500, hint=_("At most 500 characters."), rows=4, errors=BIO_ERRORS, api_name="note",
        activity_name="summary",
    )  # fmt: skip
    link = ProfileText(_("Link"), "link", limit=300, errors=LINK_ERRORS)
    moved_to = ProfileText(
        _("I moved to"), "moved", limit=300, hint=MOVED_HINT, errors=LINK_ERRORS, activity_name="movedTo"
    )
    fields = ProfileText(_("More about you"), "fields", limit=255, hint=FIELDS_HINT, errors=FIELD_ERRORS)
    created_ms = models.BigIntegerField(default=0)
    state = models.CharField(max_length=9, default=ACTIVE)
    is_staff = models.BooleanField(default=False)
    version = models.BigIntegerField(default=1)
    is_private = models.BooleanField(default=False)
    avatar = models.CharField(max_length=64, blank=True, default="")
    header = models.CharField(max_length=64, blank=True, default="")
    encoded_preferences = models.CharField(max_length=1_000, blank=True, default="")
    delete_ms = models.BigIntegerField(default=0)
    """The time at which a suspended account is deleted on its owner's request, or 0."""
    limited = models.BooleanField(default=False)
    marks_pictures = models.BooleanField(default=False)
    silenced_until_ms = models.BigIntegerField(default=0)
    """The time until which the account may not write, or 0. It may lie in the past."""
    role = models.CharField(max_length=9, blank=True, default="")
    """The role of staff (accounts/roles.py), or ""."""
    has_sanctions = models.BooleanField(default=False)
    """True if the owner has not opened the page of sanctions since the last one."""
    last_login = None  # sessions store this time

    USERNAME_FIELD = "handle"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        managed = False
        verbose_name = _("account")
        verbose_name_plural = _("accounts")

    def __str__(self) -> str:
        return f"@{self.handle}"

    def copy(self) -> "Account":
        """Return an equal account that can be changed. This is ten times faster than Django's constructor."""
        account = Account.__new__(Account)
        account.__dict__.update(self.__dict__, _state=ModelState())
        return account

    def get_session_auth_hash(self) -> str:
        """Return Django's hash of the password's hash and the site's key. It is cached, since each request needs it."""
        return _session_auth_hash(self.password, settings.SECRET_KEY)

    @property
    def is_active(self) -> bool:  # type: ignore[override]
        return self.state == ACTIVE

    @property
    def is_leaving(self) -> bool:
        """Return whether the owner has requested the deletion of the account."""
        return self.state == SUSPENDED and self.delete_ms > 0

    @property
    def can_reset_password(self) -> bool:
        """Return whether the owner may log in. An owner whose deletion is pending may, to cancel it."""
        return self.is_active or self.is_leaving

    @property
    def texts(self) -> dict[ProfileText, str]:
        """Return the texts of the profile, also the empty ones, in their order."""
        return {text: getattr(self, name) for name, text in PROFILE_TEXTS.items()}

    @property
    def filled_fields(self) -> list[ProfileField]:
        return [field for field in decode_fields(self.fields) if field.value]

    @property
    def lines(self) -> list[tuple[LazyText, str]]:
        """Return the labels and texts of the profile that staff and the archive show beside the name."""
        texts = self.texts.items()
        return [line for text, stored in texts if text.kind != "name" for line in text.lines(stored)]

    @property
    def parts(self) -> Iterable[str]:
        """Return all that people write in the texts of the profile, also the labels of its fields."""
        return split_texts({text.name: stored for text, stored in self.texts.items()}).values()

    @property
    def about(self) -> str:
        """Return the texts that feeds and search engines show as the description of the account."""
        return "\n\n".join(value for text, value in self.texts.items() if text.kind == "text" and value)

    @property
    def preferences(self) -> Preferences:
        """The choices of the account for reading and writing posts."""
        return decode_preferences(self.encoded_preferences)

    @property
    def opens_warnings(self) -> bool:
        return self.preferences.opens_warnings

    @property
    def author(self) -> Author:
        """The facts that pages show beside the account's posts."""
        state: AccountState = self.state  # type: ignore[assignment]
        return Author(
            AccountId(self.id),
            self.handle,
            self.display_name,
            state,
            self.version,
            self.is_private,
            self.avatar,
            self.limited,
            self.marks_pictures,
        )

    @property
    def followers_only(self) -> bool:
        """Return whether only followers see the posts of the account."""
        return self.is_private or self.limited

    def get_absolute_url(self) -> str:
        """Return the path of the profile page."""
        return f"/@{self.handle}/"

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Replace a method of the base classes that would need a database, or would hash on the event loop."""
        raise NotImplementedError(NO_DATABASE_MESSAGE)

    save = asave = delete = adelete = set_password = check_password = acheck_password = _refuse


@lru_cache(maxsize=4_096)
def _session_auth_hash(password: str, secret_key: str) -> str:
    return AbstractBaseUser.get_session_auth_hash(Account(password=password))
