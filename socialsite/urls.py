"""The URLs of the site."""

from django.urls import include, path

from accounts.oauth import views as oauth
from accounts.sessions import views as sessions
from socialsite.admin.views import site_pages
from socialsite.admin.views.site import accent, serve_logo
from socialsite.web import views
from socialsite.web.display import display
from socialsite.web.metrics_page import metrics_page
from socialsite.web.requests import dispatch_by_method

urlpatterns = [
    path("", include("timelines.urls")),
    path("", include("timelines.api.urls")),
    path("accounts/", include("accounts.urls")),
    path("invite/<str:code>/", sessions.invitation, name="invite"),
    path("oauth/authorize", oauth.authorize, name="authorize"),
    path("oauth/authorize/", oauth.authorize, name="authorize-slash"),  # some apps append a slash
    path("oauth/token", oauth.token, name="token"),
    path("oauth/revoke", oauth.revoke, name="revoke"),
    path(".well-known/oauth-authorization-server", oauth.server_metadata, name="oauth-metadata"),
    path("ops/", include("socialsite.admin.urls")),
    path("about/", dispatch_by_method(GET=site_pages.about), name="about"),
    path("rules/", dispatch_by_method(GET=site_pages.rules), name="rules"),
    path("privacy/", dispatch_by_method(GET=site_pages.privacy), name="privacy"),
    path("terms/", dispatch_by_method(GET=site_pages.terms), name="terms"),
    path("accent/<slug:colour>.css", dispatch_by_method(GET=accent), name="accent"),
    path("logo/<media_name:logo>/<media_size:size>.webp", dispatch_by_method(GET=serve_logo), name="logo"),
    path("display/", display, name="display"),
    path("livez", dispatch_by_method(GET=views.livez), name="livez"),
    path("readyz", dispatch_by_method(GET=views.readyz), name="readyz"),
    path("metrics", dispatch_by_method(GET=metrics_page), name="metrics"),
    path("robots.txt", dispatch_by_method(GET=views.robots_txt), name="robots"),
    path("favicon.ico", dispatch_by_method(GET=views.favicon), name="favicon"),
    path("manifest.webmanifest", dispatch_by_method(GET=views.manifest), name="manifest"),
    path("sw.js", dispatch_by_method(GET=views.service_worker), name="service-worker"),
    path("offline/", dispatch_by_method(GET=views.offline), name="offline"),
    path(".well-known/security.txt", dispatch_by_method(GET=views.security_txt), name="security"),
    path(".well-known/change-password", dispatch_by_method(GET=views.change_password), name="change-password"),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.server_error
