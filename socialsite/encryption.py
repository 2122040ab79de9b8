"""Encrypts texts with the secret key of the site. A copy of the store alone does not reveal them."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


def seal(text: str, purpose: str) -> str:
    """Return the encrypted text. Each purpose has a key of its own."""
    return _cipher(purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, purpose: str) -> str:
    """Return the text, or "" if none of SECRET_KEY and SECRET_KEY_FALLBACKS sealed it."""
    try:
        return _cipher(purpose).decrypt(sealed).decode() if sealed else ""
    except InvalidToken:
        return ""


def _cipher(purpose: str) -> MultiFernet:
    digests = (
        hashlib.sha256(f"{purpose}:{secret}".encode()).digest()
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
