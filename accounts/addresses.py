"""Mail addresses: which this site accepts, and how pages show them."""

import re

import idna
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

ADDRESS_MAX_LENGTH = 254  # RFC 5321, 4.5.3.1.3, without the angle brackets
_PLAIN_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[^\s@\[\]\"<>(),:;\\\x00-\x20]{1,190}")
_validate = EmailValidator()


class InvalidAddress(ValueError):
    """The text is not a mail address that this site can use."""


def normalize_address(raw: str) -> str:
    """Return the address with its domain in lower case and ASCII. Raises InvalidAddress.

    Quoted names, comments and literal IP addresses are refused, although RFC 5321 allows them.
    """
    text = raw.strip(" \t")
    if len(text) > ADDRESS_MAX_LENGTH or not _PLAIN_ADDRESS.fullmatch(text):
        raise InvalidAddress
    name, _, domain = text.rpartition("@")
    try:
        host = domain.lower() if domain.isascii() else idna.encode(domain, uts46=True).decode()
        address = f"{name}@{host}"
        _validate(address)
    except (UnicodeError, ValidationError) as error:
        raise InvalidAddress from error
    if len(address) > ADDRESS_MAX_LENGTH:
        raise InvalidAddress
    return address


def mask_address(address: str) -> str:
    """Return the address with all but the first character of its name hidden: "a…@example.org"."""
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}…@{domain}" if domain else ""
