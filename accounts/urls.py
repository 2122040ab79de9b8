"""The addresses under /accounts/."""

from django.urls import path

from accounts.sessions import views as session_views
from accounts.settings import factors, invitations, sanctions, security, step_up
from accounts.settings import mail as mail_views
from accounts.settings import views as settings_views

app_name = "accounts"
urlpatterns = [
    path("", settings_views.overview, name="overview"),
    path("signup/", session_views.signup, name="signup"),
    path("signup/check/", session_views.signup_check, name="signup-check"),
    path("waiting/", session_views.waiting, name="waiting"),
    path("invitations/", invitations.index, name="invitations"),
    path("invitations/end/", invitations.end, name="invitation_end"),
    path("login/", session_views.login, name="login"),
    path("login/factor/", session_views.factor, name="factor"),
    path("login/passkey/", session_views.passkey, name="passkey-login"),
    path("login/options/", session_views.options, name="passkey-options"),
    path("logout/", session_views.logout, name="logout"),
    path("preferences/", settings_views.preferences, name="preferences"),
    path("password/", settings_views.password, name="password"),
    path("security/", security.security, name="security"),
    path("factors/totp/", factors.totp, name="totp"),
    path("factors/codes/", factors.codes, name="codes"),
    path("factors/remove/", factors.remove, name="remove-factor"),
    path("passkeys/", factors.passkeys, name="passkeys"),
    path("confirm/", step_up.confirm, name="confirm"),
    path("sessions/", settings_views.sessions, name="sessions"),
    path("mail/", mail_views.address, name="mail"),
    path("mail/remove/", mail_views.remove, name="mail_remove"),
    path("mail/digest/", mail_views.digest, name="mail_digest"),
    path("mail/confirm/", mail_views.confirm, name="mail_confirm"),
    path("mail/unsubscribe/", mail_views.stop, name="mail_unsubscribe"),
    path("reset/", mail_views.forgotten, name="reset"),
    path("reset/confirm/", mail_views.reset, name="reset_confirm"),
    path("sanctions/", sanctions.sanctions, name="sanctions"),
    path("suspended/", session_views.suspended, name="suspended"),
    path("delete/", settings_views.delete, name="delete"),
]
