"""The URLs under /ops/, each with the right that it needs. `id` is the converter of timelines/urls.py."""

from socialsite.admin.requests import staff_urls
from socialsite.admin.views import (
    accounts,
    alerts,
    announcements,
    dashboard,
    dead_letters,
    joining,
    reports,
    sanctions,
    site,
    staff,
    trends,
)

ACCOUNT = "accounts/<id:account_id>/"
SANCTION = f"{ACCOUNT}sanctions/<id:sanction_id>/"
REPORT = "reports/<id:report_id>/"

app_name = "ops"
urlpatterns = [
    *staff_urls(
        "operations",
        ("", "dashboard", dashboard.index, None),
        ("alerts/", "alerts", alerts.index, alerts.choose),
        ("statistics/", "statistics", dashboard.statistics, None),
        ("deadletters/", "deadletters", dead_letters.index, None),
        ("deadletters/retry/", "retry", None, dead_letters.retry),
        ("deadletters/drop/", "drop", None, dead_letters.drop),
    ),
    *staff_urls("audit_log", ("trail/", "trail", dashboard.audit_log, None)),
    *staff_urls(
        "accounts",
        ("accounts/", "accounts", accounts.index, None),
        (ACCOUNT, "account", accounts.show, None),
        ("applications/", "applications", joining.applications, joining.decide_applications),
        ("held/", "held", joining.held, joining.decide_held),
        ("invitations/<id:account_id>/", "invitations", joining.invitations, None),
    ),
    *staff_urls(
        "sanctions",
        (f"{ACCOUNT}suspend/", "suspend", None, accounts.suspend),
        (f"{ACCOUNT}reinstate/", "reinstate", None, accounts.reinstate),
        (f"{ACCOUNT}sessions/end/", "sessions", None, accounts.end_sessions),
        (f"{ACCOUNT}act/", "act", sanctions.act_page, sanctions.act),
        (f"{SANCTION}undo/", "undo", None, sanctions.undo),
        (f"{SANCTION}decide/", "decide-appeal", None, sanctions.decide),
        ("appeals/", "appeals", sanctions.appeals, None),
    ),
    *staff_urls(
        "reports",
        ("reports/", "reports", reports.index, None),
        (REPORT, "report", reports.show, None),
        (f"{REPORT}claim/", "report-claim", None, reports.claim),
        (f"{REPORT}close/", "report-close", None, reports.close),
    ),
    *staff_urls(
        "site",
        ("trends/", "trends", trends.index, trends.change),
        ("announcements/", "announcements", announcements.index, announcements.publish),
        ("announcements/remove/", "announcement-remove", None, announcements.remove),
        ("site/", "site", site.show, site.change),
        ("site/logo/", "site-logo", None, site.set_logo),
    ),
    *staff_urls("passwords", (f"{ACCOUNT}password/", "password", None, accounts.reset_password)),
    *staff_urls("roles", ("staff/", "staff", staff.index, staff.change)),
]
