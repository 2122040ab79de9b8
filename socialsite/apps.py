"""The project as an app, so that its system checks and commands are found."""

from django.apps import AppConfig


class SocialsiteConfig(AppConfig):
    name = "socialsite"

    def ready(self) -> None:
        from socialsite import checks  # noqa: F401  (registers the checks)
