"""The accounts app: accounts, credentials and sessions."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from accounts.domain import Author
from socialsite.web.page_cache import PLAIN_STRUCTS


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("Accounts")

    def ready(self) -> None:
        PLAIN_STRUCTS.append(Author)
