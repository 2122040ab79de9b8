"""The view that votes in a poll."""

from django.http.response import HttpResponseBase

from socialsite.ids import PostId
from socialsite.web.requests import SiteRequest, get_form_data, require_viewer_id
from socialsite.web.responses import done
from timelines.pages.polls import poll_html, poll_json
from timelines.pages.presenters import post_url
from timelines.polls.service import PollService, parse_choices


async def vote(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    """Vote with the fields `choices-<post id>` of the site's pages, or `choices`."""
    fields = get_form_data(request)
    choices = parse_choices(fields.values_of(f"choices-{post_id}") or fields.values_of("choices"))
    entry = await request.services[PollService].vote(
        account_id=require_viewer_id(request), post_id=post_id, choices=choices
    )
    data = {"poll": poll_json(entry), "html": poll_html(entry, request.LANGUAGE_CODE)}
    return done(request, data, default=post_url(entry.post.id, entry.author))
