"""The addresses under /ops/, for staff. `id` is the converter of timelines/urls.py."""

from django.urls import path

from socialsite.admin.views import accounts
from socialsite.admin.views import dashboard as looking
from socialsite.admin.views import dead_letters as letters
from socialsite.web.requests import dispatch_by_method

app_name = "ops"
urlpatterns = [
    path("", dispatch_by_method(GET=looking.index), name="dashboard"),
    path("statistics/", dispatch_by_method(GET=looking.statistics), name="statistics"),
    path("trail/", dispatch_by_method(GET=looking.audit_log), name="trail"),
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
    path("deadletters/", dispatch_by_method(GET=letters.index), name="deadletters"),
    path("deadletters/retry/", dispatch_by_method(POST=letters.retry), name="retry"),
    path("deadletters/drop/", dispatch_by_method(POST=letters.drop), name="drop"),
]
