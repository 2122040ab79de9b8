"""Polls in the API. A poll has the id of its post."""

from django.http import HttpResponse

from socialsite.ids import PostId
from socialsite.web.requests import SiteRequest, get_viewer_id, require_viewer_id
from socialsite.web.responses import json_response
from timelines.api.endpoint import endpoint
from timelines.api.entities.poll import poll_entity
from timelines.api.fields import api_fields
from timelines.errors import PostNotFound
from timelines.polls.service import PollService, parse_choices
from timelines.reading.service import ReadingService


@endpoint("read:statuses")
async def show(request: SiteRequest, post_id: PostId) -> HttpResponse:
    entry = await request.services[ReadingService].post(post_id, viewer_id=get_viewer_id(request))
    poll = poll_entity(entry.shown)
    if poll is None:
        raise PostNotFound
    return json_response(poll)


@endpoint("write:statuses", needs_account=True)
async def vote(request: SiteRequest, post_id: PostId) -> HttpResponse:
    choices = parse_choices(api_fields(request).values_of("choices"))
    entry = await request.services[PollService].vote(
        account_id=require_viewer_id(request), post_id=post_id, choices=choices, may_repeat=False
    )
    return json_response(poll_entity(entry))
