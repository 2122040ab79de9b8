"""The Django app of the project: it registers the system checks and commands."""

from django.apps import AppConfig


class SocialsiteConfig(AppConfig):
    name = "socialsite"

    def ready(self) -> None:
        from socialsite import checks  # noqa: F401  (registers the checks)
