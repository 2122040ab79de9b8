"""The "hello" view on the site's ASGI handler."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.hello.settings"
django.setup()

from socialsite.web.handler import AsyncHandler, disconnect_database_receivers  # noqa: E402

disconnect_database_receivers()
application = AsyncHandler()
