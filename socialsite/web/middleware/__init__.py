"""The async-native stack every request passes (settings.MIDDLEWARE names its order).

Django's own middleware claims to be async, but each of its hooks goes through a thread. Those of Django that
only compute are subclassed here and called on the loop (stock.py); the rest is ours. Nothing here knows what
a page says.
"""
