"""Django's `check`. It connects to Redis only if --tag redis is given."""

from typing import Any

from django.core.management.commands import check

from socialsite.checks import may_connect
from socialsite.management.base import SiteCommand


class Command(SiteCommand, check.Command):
    def handle(self, *app_labels: Any, **options: Any) -> None:
        token = may_connect.set("redis" in (options["tags"] or ()))
        try:
            super().handle(*app_labels, **options)
        finally:
            may_connect.reset(token)
