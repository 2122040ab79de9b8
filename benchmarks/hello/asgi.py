"""Django's own ASGI handler."""

import os

from django.core.asgi import get_asgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.hello.settings"

application = get_asgi_application()
