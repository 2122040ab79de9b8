"""Django set up for measuring: the site's own settings, a key made here, limits on but out of reach."""

import os
import secrets

HIGH_LIMITS = {
    f"RATE_LIMIT_{rule}": "9999999/m"
    for rule in ("POST", "FOLLOW", "LOGIN", "SIGNUP", "SEARCH", "COMPLETE", "SOCKET", "ADDRESS")
}
"""Counted at every request, as in production; never reached."""


def prepare() -> None:
    """Before anything of the site is imported. Children inherit the key, so sessions made here hold there."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "socialsite.settings"
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))
    os.environ.update(HIGH_LIMITS, DEBUG="0", HTTPS="0", ALLOWED_HOSTS="127.0.0.1", LOG_LEVEL="WARNING")
    import django

    django.setup()
    import logging

    logging.getLogger().setLevel(logging.ERROR)  # 10,000 sign-ups are no news here
