"""Prepare for the first request: template tags, common passwords, the time zone, URL patterns, translations."""

from django.conf import settings
from django.contrib.auth.password_validation import get_default_password_validators
from django.template import engines
from django.urls import is_valid_path
from django.utils import translation
from django.utils.timezone import get_default_timezone


def prepare_first_request() -> None:
    """Load what Django would load in the first request. This opens no connection and starts no thread."""
    engines.all()
    is_valid_path("/no-such-page/")  # 0.2 s
    get_default_password_validators()
    get_default_timezone()
    for language, _ in settings.LANGUAGES:
        with translation.override(language):
            translation.gettext("")
