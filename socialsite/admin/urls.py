"""The addresses under /ops/, for staff. `id` is the converter of timelines/urls.py."""

from django.urls import path

from socialsite.admin.views import accounts
from socialsite.admin.views import dashboard as looking
from socialsite.admin.views import dead_letters as letters
from socialsite.web.requests import methods

app_name = "ops"
urlpatterns = [
    path("", methods(GET=looking.index), name="dashboard"),
    path("statistics/", methods(GET=looking.statistics), name="statistics"),
    path("trail/", methods(GET=looking.trail), name="trail"),
    path("accounts/", methods(GET=accounts.index), name="accounts"),
    path("accounts/<id:account_id>/", methods(GET=accounts.show), name="account"),
    path("accounts/<id:account_id>/suspend/", methods(POST=accounts.suspend), name="suspend"),
    path("accounts/<id:account_id>/reinstate/", methods(POST=accounts.reinstate), name="reinstate"),
    path("accounts/<id:account_id>/password/", methods(POST=accounts.reset_password), name="password"),
    path("accounts/<id:account_id>/sessions/end/", methods(POST=accounts.end_sessions), name="sessions"),
    path("deadletters/", methods(GET=letters.index), name="deadletters"),
    path("deadletters/retry/", methods(POST=letters.retry), name="retry"),
    path("deadletters/drop/", methods(POST=letters.drop), name="drop"),
]
