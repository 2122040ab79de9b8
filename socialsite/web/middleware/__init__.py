"""The middleware of every request, in the order of settings.MIDDLEWARE.

Django runs each hook of its own middleware in a thread. django_async.py has subclasses whose hooks run on the event
loop, because they only compute. The middleware does not depend on the content of pages.
"""
