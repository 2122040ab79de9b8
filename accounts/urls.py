"""The addresses under /accounts/."""

from django.urls import path

from accounts.sessions import views as entering
from accounts.settings import views as own

app_name = "accounts"
urlpatterns = [
    path("signup/", entering.signup, name="signup"),
    path("login/", entering.login, name="login"),
    path("logout/", entering.logout, name="logout"),
    path("settings/", own.settings, name="settings"),
    path("password/", own.password, name="password"),
    path("sessions/", own.sessions, name="sessions"),
    path("delete/", own.delete, name="delete"),
]
