"""Hashes and checks passwords in two threads beside the event loop. One Argon2 hash takes about 100 MB.

The limit is a pool of threads, not a semaphore, because a thread continues after its request was cancelled. A password
for an unknown account is checked against a dummy hash, so that it takes as long as a wrong password.
"""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from django.contrib.auth.hashers import get_hasher, is_password_usable, make_password, verify_password

MAX_CONCURRENT_HASHES = 2
PASSWORD_MAX_LENGTH = 1024  # code points; longer ones only cost time

T = TypeVar("T")
_hashing_pool = ThreadPoolExecutor(max_workers=MAX_CONCURRENT_HASHES, thread_name_prefix="passwords")


async def hash_password(raw: str | None) -> str:
    """Return the hash to store. None makes a hash that no password matches."""
    if raw is None:
        return make_password(None)
    return await _run_in_pool(lambda: make_password(raw))


async def check_password(raw: str, encoded: str | None) -> tuple[bool, bool]:
    """Return (whether it matches, whether the hash is outdated). None or an unusable hash never matches, as slowly."""
    return await _run_in_pool(lambda: _check_password_sync(raw, encoded))


def _check_password_sync(raw: str, encoded: str | None) -> tuple[bool, bool]:
    dummy = _dummy_hash(get_hasher().algorithm)  # computed on the first check of the process
    if encoded is None or not is_password_usable(encoded):
        verify_password(raw, dummy)
        return False, False
    return verify_password(raw, encoded)


@cache
def _dummy_hash(algorithm: str) -> str:
    return make_password(secrets.token_urlsafe(32), hasher=algorithm)


async def _run_in_pool(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_hashing_pool, work)
