"""Looks at posts and profiles: counted for everybody else, shown to whom they belong."""

from django.utils.translation import ngettext

from accounts.domain import AccountId
from socialsite.http import SiteRequest, viewer_id, wants_json
from socialsite.recipes.buffer import Entity
from socialsite.shells import Slot
from timelines.templatetags.timelines_tags import number


async def looked_at(request: SiteRequest, entity: Entity, owner_id: AccountId) -> Slot | None:
    """Count a look of somebody else; for the owner, how many there were, those not flushed yet included."""
    statistics = request.services.statistics
    if viewer_id(request) != owner_id:
        if request.method == "GET":
            statistics.meter.viewed(entity)
        return None
    if wants_json(request):
        return None
    (visits,) = await statistics.figures.visits([entity])
    text = ngettext("Seen %(shown)s time by others", "Seen %(shown)s times by others", visits.views)
    return Slot(text % {"shown": number(visits.views)})
