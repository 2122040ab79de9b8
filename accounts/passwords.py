"""Hashing and checking passwords off the event loop, two at a time: one Argon2 hash takes about 100 MB.

The bound is a pool of two threads and not a semaphore, because a thread goes on after its request was
cancelled. An unknown account is checked against a hash of nothing, so it takes the time of a wrong password.
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
    """The hash to store; None makes one that no password matches."""
    if raw is None:
        return make_password(None)
    return await _run_in_pool(lambda: make_password(raw))


async def check_password(raw: str, encoded: str | None) -> tuple[bool, bool]:
    """(it matches, the hash should be made anew). `encoded` None or unusable: never, in the same time."""
    return await _run_in_pool(lambda: _check_password_sync(raw, encoded))


def _check_password_sync(raw: str, encoded: str | None) -> tuple[bool, bool]:
    dummy = _dummy_hash(get_hasher().algorithm)  # made on the first check, whoever it is for
    if encoded is None or not is_password_usable(encoded):
        verify_password(raw, dummy)
        return False, False
    return verify_password(raw, encoded)


@cache
def _dummy_hash(algorithm: str) -> str:
    return make_password(secrets.token_urlsafe(32), hasher=algorithm)


async def _run_in_pool(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_hashing_pool, work)
