"""A plugin of pytest that declares one more text of a profile, the motto, before the site is imported."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
django.setup()

from accounts.models import Account  # noqa: E402 - needs the set up of Django
from accounts.profile_texts import ProfileText  # noqa: E402

MOTTO = ProfileText(
    "Motto", "text", limit=20, errors={"too_long": "A motto is short."}, api_name="motto", activity_name="motto"
)
Account.add_to_class("motto", MOTTO)
