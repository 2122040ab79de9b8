"""The site's own settings under test: a key made here, a fast hasher, no limits unless a test asks."""

import atexit
import os
import secrets
import shutil
import tempfile

os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))
os.environ.setdefault("DEBUG", "0")
os.environ.setdefault("HTTPS", "0")
os.environ.setdefault("ALLOWED_HOSTS", "*")
os.environ["MEDIA_ROOT"] = tempfile.mkdtemp(prefix="socialsite-media-")  # also of the processes that tests start

from socialsite.settings import *  # noqa: F403

atexit.register(shutil.rmtree, os.environ["MEDIA_ROOT"], ignore_errors=True)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
