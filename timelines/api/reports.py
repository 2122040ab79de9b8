"""Reports in the API."""

from socialsite.ids import AccountId, PostId, ms_from_id
from socialsite.web.requests import SiteRequest, require_viewer_id
from socialsite.web.responses import format_iso_time
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, ids_field, require_id
from timelines.api.presenters import accounts_json
from timelines.pages.presenters import Json
from timelines.reports.report import MAX_REPORTED_POSTS
from timelines.reports.service import ReportService


@endpoint("write:reports", needs_account=True)
async def report(request: SiteRequest) -> Json:
    fields = api_fields(request)
    rule_numbers = ids_field(fields, "rule_ids", MAX_REPORTED_POSTS)
    stored = await request.services[ReportService].report(
        reporter_id=require_viewer_id(request),
        target_id=AccountId(require_id(fields, "account_id")),
        category=fields.get("category") or ("violation" if rule_numbers else "other"),
        comment=fields.get("comment", ""),
        post_ids=[PostId(id) for id in ids_field(fields, "status_ids", MAX_REPORTED_POSTS)],
        rule_numbers=[number - 1 for number in rule_numbers],
        caller=request.caller,
    )
    (target,) = await accounts_json(request, [stored.target_id])
    return {
        "id": str(stored.id),
        "action_taken": False,
        "action_taken_at": None,
        "category": stored.category,
        "comment": stored.comment,
        "forwarded": False,
        "created_at": format_iso_time(ms_from_id(stored.id)),
        "status_ids": [str(id) for id in stored.post_ids],
        "rule_ids": [str(number) for number in rule_numbers] or None,
        "target_account": target,
    }
