"""The page to choose language, theme, text size and reminders.

Cookies store the choices, so visitors can choose them, too.
"""

from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import activate
from django.utils.translation import gettext as _

from socialsite.errors import Invalid
from socialsite.web.requests import SiteRequest, dispatch_by_method, get_form_data
from socialsite.web.responses import TEXT_SIZES, THEMES, done, respond, set_own_cookie

DISPLAY_PATH = "/display/"
COOKIE_MAX_AGE_S = 365 * 86_400


async def show(request: SiteRequest) -> HttpResponse:
    """Show the choices. The empty choice leaves the decision to the browser."""
    chosen = {name: request.COOKIES.get(cookie, "") for name, cookie in _cookie_names().items()}
    page = {"chosen": chosen, "languages": settings.LANGUAGES, "page_title": _("Language and theme")}
    return respond(request, "display.html", page=lambda: page, data=lambda: _as_json(chosen))


async def choose(request: SiteRequest) -> HttpResponse:
    """Store the submitted choices in cookies. Raises Invalid for an unknown value."""
    fields = get_form_data(request)
    languages = [code for code, _name in settings.LANGUAGES]
    allowed = {"language": languages, "theme": THEMES, "text_size": TEXT_SIZES, "descriptions": ("off",)}
    chosen = {name: fields[name] for name in allowed if name in fields}
    errors = {name: _("This is not one of the choices.") for name in chosen if chosen[name] not in ("", *allowed[name])}
    if errors:
        raise Invalid(errors, _("This is not one of the choices."))
    response = done(request, _as_json(chosen), default=DISPLAY_PATH)
    for name, value in chosen.items():
        cookie = _cookie_names()[name]
        if value:
            set_own_cookie(response, cookie, value, COOKIE_MAX_AGE_S)
        else:
            response.delete_cookie(cookie)
    return response


def _as_json(chosen: dict[str, str]) -> dict[str, str]:
    """Return the choices of the frozen JSON (docs/reference/interface.md)."""
    return {name: value for name, value in chosen.items() if name != "text_size"}


def find_language(tag: str) -> str:
    """Return the language code of a tag such as "de-AT", or "" if the site does not have the language."""
    code = tag.lower().partition("-")[0]
    return code if code in dict(settings.LANGUAGES) else ""


def activate_language(tag: str) -> None:
    """Use the language of a tag for this request, if the site has it."""
    if code := find_language(tag):
        activate(code)


def _cookie_names() -> dict[str, str]:
    return {
        "language": settings.LANGUAGE_COOKIE_NAME,
        "theme": settings.THEME_COOKIE_NAME,
        "text_size": settings.TEXT_SIZE_COOKIE_NAME,
        "descriptions": settings.DESCRIPTIONS_COOKIE_NAME,
    }


display = dispatch_by_method(GET=show, POST=choose)
