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
    # At shutdown the layer logs a warning for each of thousands of consumers.
    "loggers": {"channels_redis": {"level": "CRITICAL"}},
}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [os.environ.get("LAYER_URL", "")]},
    }
}
