"""The site's own settings under test: a key made here, a fast hasher, no limits unless a test asks."""

import os
import secrets

os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))
os.environ.setdefault("DEBUG", "0")
os.environ.setdefault("HTTPS", "0")
os.environ.setdefault("ALLOWED_HOSTS", "*")

from socialsite.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
