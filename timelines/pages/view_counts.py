"""Looks at posts and profiles, and links followed: counted for everybody else, shown to whom they belong."""

from http import HTTPStatus

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.domain import AccountId
from socialsite.analytics.stats import Visits
from socialsite.errors import Malformed
from socialsite.ids import PostId, find_id
from socialsite.recipes.buffer import Entity
from socialsite.web.page_cache import Slot
from socialsite.web.requests import SiteRequest, form_data, viewer_id, wants_json
from timelines.templatetags.timelines_tags import number
from timelines.text.linkify import has_links


async def looked_at(request: SiteRequest, entity: Entity, owner_id: AccountId) -> Slot | None:
    """Count a look of somebody else; for the owner, how many there were, those not flushed yet included."""
    statistics = request.services.statistics
    if viewer_id(request) != owner_id:
        if request.method == "GET":
            statistics.meter.viewed(entity)
        return None
    if wants_json(request):
        return None
    visits = await statistics.figures.visits_if_known(entity)
    return Slot(_words(visits)) if visits else None


def _words(visits: Visits) -> str:
    text = ngettext("Seen %(shown)s time by others", "Seen %(shown)s times by others", visits.views)
    words = text % {"shown": number(visits.views)}
    if not visits.clicks:
        return words
    text = ngettext("links followed %(shown)s time", "links followed %(shown)s times", visits.clicks)
    return f"{words} · {text % {'shown': number(visits.clicks)}}"


async def clicked(request: SiteRequest) -> HttpResponse:
    """The page's script says that somebody follows a link of the post `post`: 204. The link itself leads
    straight to its target. The post is read, so that nobody makes counters of what is not there; whose
    address says it too often is refused by the rule of addresses, as for any request.
    """
    post_id = find_id(form_data(request).get("post", ""))
    if post_id is None:
        raise Malformed(fields={"post": _("This is not the id of a post.")})
    me = viewer_id(request)
    entry = await request.services.reading.post(PostId(post_id), viewer_id=me)
    if entry.author.id != me and has_links(entry.post.text):
        request.services.statistics.meter.clicked(Entity("post", post_id))
    return HttpResponse(status=HTTPStatus.NO_CONTENT)
