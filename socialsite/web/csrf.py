"""CSRF tokens for pages: Django's secret, masked differently on each page.

Django draws the random characters of the mask one by one, which costs as much as reading the session. This module
draws all in one call, with the same uniform distribution. Django still checks the tokens
(tests/unit/web/test_csrf_token.py).
"""

import os
from operator import add

from django.http import HttpRequest
from django.middleware.csrf import CSRF_ALLOWED_CHARS, CSRF_SECRET_LENGTH, get_token

TOKEN_CHARS = CSRF_ALLOWED_CHARS.encode()
TOKEN_CHAR_COUNT = len(TOKEN_CHARS)
BIASED_BYTES = bytes(range(256 - 256 % TOKEN_CHAR_COUNT, 256))
"""Random bytes that are discarded, because they would make some characters more likely than others."""
BYTE_TO_INDEX = bytes(byte % TOKEN_CHAR_COUNT for byte in range(256))
"""Random byte -> index of a character."""
INDEX_TO_CHAR = bytes(TOKEN_CHARS[byte % TOKEN_CHAR_COUNT] for byte in range(256))
"""Index -> character. The sum of two indexes is also a valid index."""
CHAR_TO_INDEX = bytes(max(TOKEN_CHARS.find(byte), 0) for byte in range(256))


def get_page_token(request: HttpRequest) -> str:
    """Return the token for the forms of this page. Django creates the first secret of a browser."""
    secret = request.META.get("CSRF_COOKIE")
    if secret is None:
        return get_token(request)
    request.META["CSRF_COOKIE_NEEDS_UPDATE"] = True
    return mask_secret(secret)


def mask_secret(secret: str) -> str:
    """Return a random mask, followed by the secret shifted by the mask. Django's `_unmask_cipher_token` inverts it."""
    mask = _random_indexes(len(secret))
    shifted = bytes(map(add, secret.encode().translate(CHAR_TO_INDEX), mask))
    return (mask + shifted).translate(INDEX_TO_CHAR).decode()


def _random_indexes(count: int) -> bytes:
    """Return random character indexes, uniformly distributed."""
    random_bytes = b""
    while len(random_bytes) < count:
        random_bytes += os.urandom(CSRF_SECRET_LENGTH * 2).translate(None, BIASED_BYTES)
    return random_bytes[:count].translate(BYTE_TO_INDEX)
