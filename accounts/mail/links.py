"""The secret links of mails. A link is made when its mail is sent, and expires."""

import re
from typing import Any, NoReturn

from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core import signing
from django.utils.crypto import salted_hmac

from accounts.domain import NO_ACCOUNT_ID
from accounts.errors import InvalidLink
from accounts.models import Account
from socialsite.clock import DAY_MS
from socialsite.ids import AccountId

CONFIRMATION_MAX_AGE_S = DAY_MS // 1_000
TOKEN_MAX_LENGTH = 500
_RESET_PATTERN = re.compile(r"([1-9][0-9]{0,15})\.([0-9a-z]{1,13}-[0-9a-f]{32,64})")
CONFIRM_SALT, UNSUBSCRIBE_SALT = "accounts.mail.confirm", "accounts.mail.unsubscribe"
_reset_tokens = PasswordResetTokenGenerator()


def address_digest(address: str) -> str:
    """Return the keyed digest under which the owner of an address is stored. The case of letters does not matter."""
    return salted_hmac("accounts.mail.address", address.lower(), algorithm="sha256").hexdigest()[:32]


def confirmation_token(account_id: AccountId, address: str) -> str:
    return signing.dumps([account_id, address], salt=CONFIRM_SALT)


def parse_confirmation(token: str) -> tuple[AccountId, str]:
    """Return the account and its address. Raises InvalidLink if the token is wrong or older than a day."""
    account_id, address = load_signed(token, CONFIRM_SALT, CONFIRMATION_MAX_AGE_S) or _refuse()
    return AccountId(account_id), address


def unsubscribe_token(account_id: AccountId) -> str:
    return signing.dumps(account_id, salt=UNSUBSCRIBE_SALT)


def parse_unsubscribe(token: str) -> AccountId:
    """Return the account of a token, which does not expire, because a mail may be read late. Raises InvalidLink."""
    return AccountId(load_signed(token, UNSUBSCRIBE_SALT) or _refuse())


def _refuse() -> NoReturn:
    raise InvalidLink


def load_signed(token: str, salt: str, max_age_s: int | None = None) -> Any:
    """Return the value of `signing.dumps`, or None if the token is wrong or too old."""
    try:
        return signing.loads(token[:TOKEN_MAX_LENGTH], salt=salt, max_age=max_age_s)
    except signing.BadSignature:
        return None


def reset_token(account: Account, address: str) -> str:
    """Return a token that ends after settings.PASSWORD_RESET_TIMEOUT, and with the password and the address."""
    return f"{account.id}.{_reset_tokens.make_token(_with_address(account, address))}"


def find_reset_account(token: str) -> AccountId:
    """Return the account that a token is for, or NO_ACCOUNT_ID. `is_reset_token` checks the token itself."""
    match = _RESET_PATTERN.fullmatch(token)
    return AccountId(int(match[1])) if match else NO_ACCOUNT_ID


def is_reset_token(account: Account, address: str, token: str) -> bool:
    return _reset_tokens.check_token(_with_address(account, address), token.partition(".")[2])


def _with_address(account: Account, address: str) -> Account:
    """Return a copy of the account with `email`, which Django's tokens also contain."""
    copy = account.copy()
    copy.email = address  # type: ignore[attr-defined]
    return copy
