"""One-time messages in a signed cookie (settings.MESSAGE_STORAGE)."""

from functools import cached_property

from django.contrib.messages.storage.base import BaseStorage
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.signing import Signer, get_cookie_signer
from django.http import HttpRequest


class LazyCookieStorage(CookieStorage):
    """Django's storage. It creates the signer when a message is read or stored, and not for each request."""

    def __init__(self, request: HttpRequest) -> None:
        BaseStorage.__init__(self, request)

    @cached_property
    def signer(self) -> Signer:
        return get_cookie_signer(salt=self.key_salt)
