"""The middleware of every request, in the order of settings.MIDDLEWARE.

Django runs each hook of its own middleware in a thread. django_async.py subclasses the ones that only compute, so
that their hooks run on the event loop. The middleware knows nothing about the content of pages.
"""
