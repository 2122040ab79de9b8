"""The URLs under /ops/. `id` is the converter of timelines/urls.py."""

from django.urls import path

from socialsite.admin.views import accounts, dashboard, dead_letters
from socialsite.web.requests import dispatch_by_method

app_name = "ops"
urlpatterns = [
    path("", dispatch_by_method(GET=dashboard.index), name="dashboard"),
    path("statistics/", dispatch_by_method(GET=dashboard.statistics), name="statistics"),
    path("trail/", dispatch_by_method(GET=dashboard.audit_log), name="trail"),
    path("accounts/", dispatch_by_method(GET=accounts.index), name="accounts"),
    path("accounts/<id:account_id>/", dispatch_by_method(GET=accounts.show), name="account"),
    path("accounts/<id:account_id>/suspend/", dispatch_by_method(POST=accounts.suspend), name="suspend"),
    path("accounts/<id:account_id>/reinstate/", dispatch_by_method(POST=accounts.reinstate), name="reinstate"),
    path(
        "accounts/<id:account_id>/password/",
        dispatch_by_method(POST=accounts.reset_password),
        name="password",
    ),
    path(
        "accounts/<id:account_id>/sessions/end/",
        dispatch_by_method(POST=accounts.end_sessions),
        name="sessions",
    ),
    path("deadletters/", dispatch_by_method(GET=dead_letters.index), name="deadletters"),
    path("deadletters/retry/", dispatch_by_method(POST=dead_letters.retry), name="retry"),
    path("deadletters/drop/", dispatch_by_method(POST=dead_letters.drop), name="drop"),
]
