"""Where everything is mounted."""

from django.urls import include, path

from socialsite.admin.views.about import about
from socialsite.web import views
from socialsite.web.metrics_page import metrics_page
from socialsite.web.requests import methods

urlpatterns = [
    path("", include("timelines.urls")),
    path("accounts/", include("accounts.urls")),
    path("ops/", include("socialsite.admin.urls")),
    path("about/", methods(GET=about), name="about"),
    path("livez", methods(GET=views.livez), name="livez"),
    path("readyz", methods(GET=views.readyz), name="readyz"),
    path("metrics", methods(GET=metrics_page), name="metrics"),
    path("robots.txt", methods(GET=views.robots), name="robots"),
    path("favicon.ico", methods(GET=views.favicon), name="favicon"),
    path("manifest.webmanifest", methods(GET=views.manifest), name="manifest"),
    path(".well-known/security.txt", methods(GET=views.security), name="security"),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.defect
