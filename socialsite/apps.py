"""The Django app of the project: it registers the system checks and commands."""

from django.apps import AppConfig
from django.conf import settings

from socialsite.site_host import set_own_site


class SocialsiteConfig(AppConfig):
    name = "socialsite"

    def ready(self) -> None:
        from socialsite import checks  # noqa: F401  (registers the checks)

        set_own_site(settings.SITE_URL)
