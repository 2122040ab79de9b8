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
os.environ.setdefault("DELETION_GRACE_DAYS", "0")
os.environ.setdefault("STAFF_SECOND_FACTOR", "0")
os.environ.setdefault("LINK_PREVIEWS", "0")  # workers of tests request no other sites
TEST_PROCESS = os.environ.get("PYTEST_XDIST_WORKER", "main")
"""The test process, also in the processes that it starts. They share its folder of pictures."""
IS_FIRST = os.environ.get("MEDIA_ROOT_OF") != TEST_PROCESS
if IS_FIRST:
    os.environ["MEDIA_ROOT_OF"], os.environ["MEDIA_ROOT"] = TEST_PROCESS, tempfile.mkdtemp(prefix="socialsite-media-")

from socialsite.settings import *  # noqa: E402, F403

if IS_FIRST:
    atexit.register(shutil.rmtree, os.environ["MEDIA_ROOT"], ignore_errors=True)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
