"""Counts views of posts and profiles, and clicks on links. Only the owner sees the counts; views by the owner are not
counted."""

from http import HTTPStatus

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from socialsite.analytics.stats import ViewCounts
from socialsite.errors import MalformedRequest
from socialsite.ids import AccountId, PostId, parse_id
from socialsite.recipes.buffer import Entity
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import SiteRequest, get_form_data, get_viewer_id, wants_json
from timelines.reading.service import ReadingService
from timelines.templatetags.timelines_tags import number
from timelines.text.linkify import has_links


async def count_view(request: SiteRequest, entity: Entity, owner_id: AccountId) -> Placeholder | None:
    """Count a view, unless the viewer is the owner. For the owner, return the counts, including buffered counts."""
    statistics = request.services.statistics
    if get_viewer_id(request) != owner_id:
        if request.method == "GET":
            statistics.meter.count_view(entity)
        return None
    if wants_json(request):
        return None
    visits = await statistics.stats.view_counts_if_available(entity)
    text = _view_counts_text(visits) if visits else ""
    return Placeholder(text) if text else None


def _view_counts_text(visits: ViewCounts) -> str:
    """Return a text with the counts above zero. It is empty if all counts are zero."""
    texts = [
        (visits.views, ngettext("%(shown)s view", "%(shown)s views", visits.views)),
        (visits.clicks, ngettext("%(shown)s link click", "%(shown)s link clicks", visits.clicks)),
    ]
    return " · ".join(text % {"shown": number(count)} for count, text in texts if count)


async def count_click(request: SiteRequest) -> HttpResponse:
    """Count a click on a link in a post. The script of the page sends the post id in the field `post`.

    The post is read first, so that only existing posts have counters. The rate limit per address applies. The response
    has status 204.
    """
    post_id = parse_id(get_form_data(request).get("post", ""))
    if post_id is None:
        raise MalformedRequest(fields={"post": _("This is not the id of a post.")})
    me = get_viewer_id(request)
    entry = await request.services[ReadingService].post(PostId(post_id), viewer_id=me)
    if entry.author.id != me and has_links(entry.post.text):
        request.services.statistics.meter.count_click(Entity("post", post_id))
    return HttpResponse(status=HTTPStatus.NO_CONTENT)
