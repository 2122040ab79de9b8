"""Set `request.services` and the side panel of every page."""

from django.conf import settings
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string
from django.utils.translation import activate

from socialsite.site.service import SiteService
from socialsite.store.errors import StoreError
from socialsite.web.middleware.base import PROBE_PATHS, GetResponse, Middleware
from socialsite.web.middleware.django_async import choose_language
from socialsite.web.middleware.errors import respond_to_error
from socialsite.web.requests import SiteRequest
from socialsite.web.services import loop_services


class ServicesMiddleware(Middleware):
    """Responds with 503 if the store cannot be opened yet; the next request tries again."""

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self._render_side_panel = import_string(settings.SIDE_PANEL)

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        if request.path_info in PROBE_PATHS:
            return await self.get_response(request)
        try:
            request.services = await loop_services.get()
        except StoreError as error:
            return respond_to_error(request, error)
        request.render_side_panel = self._render_side_panel
        _use_default_language(request)
        return await self.get_response(request)


def _use_default_language(request: SiteRequest) -> None:
    """Activate the default language of the site if the browser accepts none of the site's languages."""
    if default := request.services[SiteService].settings.default_language:
        cookie = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
        activate(choose_language(cookie, request.META.get("HTTP_ACCEPT_LANGUAGE", ""), default))
