"""The CSRF token of a page: Django's secret under a mask of its own on each page, made without a loop.

Django draws the mask's characters one by one, which costs as much as the whole session; here they are drawn
at once, from the same 62 and as evenly. Django checks what comes back, and finds the secret (tests/unit).
"""

import os
from operator import add

from django.http import HttpRequest
from django.middleware.csrf import CSRF_ALLOWED_CHARS, CSRF_SECRET_LENGTH, get_token

TOKEN_CHARS = CSRF_ALLOWED_CHARS.encode()
TOKEN_CHAR_COUNT = len(TOKEN_CHARS)
BIASED_BYTES = bytes(range(256 - 256 % TOKEN_CHAR_COUNT, 256))
"""Random bytes that are thrown away: with them some characters would come more often."""
BYTE_TO_INDEX = bytes(byte % TOKEN_CHAR_COUNT for byte in range(256))
"""Of each byte the place among the characters that it stands for."""
INDEX_TO_CHAR = bytes(TOKEN_CHARS[byte % TOKEN_CHAR_COUNT] for byte in range(256))
"""Of each place the character, sums of two places included."""
CHAR_TO_INDEX = bytes(max(TOKEN_CHARS.find(byte), 0) for byte in range(256))


def get_page_token(request: HttpRequest) -> str:
    """What forms of this page carry; the first token of a browser is made by Django."""
    secret = request.META.get("CSRF_COOKIE")
    if secret is None:
        return get_token(request)
    request.META["CSRF_COOKIE_NEEDS_UPDATE"] = True
    return mask_secret(secret)


def mask_secret(secret: str) -> str:
    """The mask, then the secret moved by it: `_unmask_cipher_token` of Django takes it off again."""
    mask = _random_indexes(len(secret))
    moved = bytes(map(add, secret.encode().translate(CHAR_TO_INDEX), mask))
    return (mask + moved).translate(INDEX_TO_CHAR).decode()


def _random_indexes(count: int) -> bytes:
    """Random places among the characters, all equally likely."""
    found = b""
    while len(found) < count:
        found += os.urandom(CSRF_SECRET_LENGTH * 2).translate(None, BIASED_BYTES)
    return found[:count].translate(BYTE_TO_INDEX)
