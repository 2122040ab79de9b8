"""The URLs under /ops/, each with the right that it needs. `id` is the converter of timelines/urls.py."""

from django.urls import path

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
from socialsite.web.requests import dispatch_by_method, limited

app_name = "ops"
urlpatterns = [
    *staff_urls(
        "operations",
        path("", dispatch_by_method(GET=dashboard.index), name="dashboard"),
        path("alerts/", limited("staff", alerts.choose, GET=alerts.index), name="alerts"),
        path("statistics/", dispatch_by_method(GET=dashboard.statistics), name="statistics"),
        path("deadletters/", dispatch_by_method(GET=dead_letters.index), name="deadletters"),
        path("deadletters/retry/", limited("staff", dead_letters.retry), name="retry"),
        path("deadletters/drop/", limited("staff", dead_letters.drop), name="drop"),
    ),
    *staff_urls("audit_log", path("trail/", dispatch_by_method(GET=dashboard.audit_log), name="trail")),
    *staff_urls(
        "accounts",
        path("accounts/", dispatch_by_method(GET=accounts.index), name="accounts"),
        path("accounts/<id:account_id>/", dispatch_by_method(GET=accounts.show), name="account"),
        path(
            "applications/",
            limited("staff", joining.decide_applications, GET=joining.applications),
            name="applications",
        ),
        path("held/", limited("staff", joining.decide_held, GET=joining.held), name="held"),
        path("invitations/<id:account_id>/", dispatch_by_method(GET=joining.invitations), name="invitations"),
    ),
    *staff_urls(
        "sanctions",
        path("accounts/<id:account_id>/suspend/", limited("staff", accounts.suspend), name="suspend"),
        path("accounts/<id:account_id>/reinstate/", limited("staff", accounts.reinstate), name="reinstate"),
        path("accounts/<id:account_id>/sessions/end/", limited("staff", accounts.end_sessions), name="sessions"),
        path("accounts/<id:account_id>/act/", limited("staff", sanctions.act, GET=sanctions.act_page), name="act"),
        path(
            "accounts/<id:account_id>/sanctions/<id:sanction_id>/undo/", limited("staff", sanctions.undo), name="undo"
        ),
        path(
            "accounts/<id:account_id>/sanctions/<id:sanction_id>/decide/",
            limited("staff", sanctions.decide),
            name="decide-appeal",
        ),
        path("appeals/", dispatch_by_method(GET=sanctions.appeals), name="appeals"),
    ),
    *staff_urls(
        "reports",
        path("reports/", dispatch_by_method(GET=reports.index), name="reports"),
        path("reports/<id:report_id>/", dispatch_by_method(GET=reports.show), name="report"),
        path("reports/<id:report_id>/claim/", limited("staff", reports.claim), name="report-claim"),
        path("reports/<id:report_id>/close/", limited("staff", reports.close), name="report-close"),
    ),
    *staff_urls(
        "site",
        path("trends/", limited("staff", trends.change, GET=trends.index), name="trends"),
        path("announcements/", limited("staff", announcements.publish, GET=announcements.index), name="announcements"),
        path("announcements/remove/", limited("staff", announcements.remove), name="announcement-remove"),
        path("site/", limited("staff", site.change, GET=site.show), name="site"),
        path("site/logo/", limited("staff", site.set_logo), name="site-logo"),
    ),
    *staff_urls(
        "passwords",
        path("accounts/<id:account_id>/password/", limited("staff", accounts.reset_password), name="password"),
    ),
    *staff_urls("roles", path("staff/", limited("staff", staff.change, GET=staff.index), name="staff")),
]
