"""One async view."""

from django.http import HttpRequest, HttpResponse
from django.urls import path


async def hello(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


urlpatterns = [path("", hello)]
