"""One channel layer, at LAYER_URL."""

import os

SECRET_KEY = "only-for-measuring-on-this-machine"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["channels"]
USE_TZ = True
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    # Ending with thousands of consumers, the layer complains about each.
    "loggers": {"channels_redis": {"level": "CRITICAL"}},
}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [os.environ.get("LAYER_URL", "")]},
    }
}
