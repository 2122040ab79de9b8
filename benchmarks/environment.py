"""Django's configuration for benchmarks: the site's settings, a generated key, and limits that are never reached."""

import os
import secrets

LIMITED = "POST FOLLOW LIKE BLOCK DELETE LOGIN SIGNUP SEARCH COMPLETE SOCKET ADDRESS"
UNLIMITED = {"POSTS_PER_DAY": "9999999", "BYTES_PER_DAY": "1000gb", "SITE_BYTES_PER_DAY": "1000gb"}
HIGH_LIMITS = {f"RATE_LIMIT_{rule}": "9999999/m" for rule in LIMITED.split()} | UNLIMITED
"""Limits counted at every request as in production, but never reached."""


def prepare() -> None:
    """Configure Django before the first import of the site.

    Child processes inherit the key, so sessions created here are valid there.
    """
    os.environ["DJANGO_SETTINGS_MODULE"] = "socialsite.settings"
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))
    os.environ.update(HIGH_LIMITS, DEBUG="0", HTTPS="0", ALLOWED_HOSTS="127.0.0.1", LOG_LEVEL="WARNING")
    import django

    django.setup()
    import logging

    logging.getLogger().setLevel(logging.ERROR)  # do not log 10,000 sign-ups
