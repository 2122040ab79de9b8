"""One channel layer, at LAYER_URL."""

import os

SECRET_KEY = "only-for-measuring-on-this-machine"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["channels"]
USE_TZ = True
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [os.environ.get("LAYER_URL", "")]},
    }
}
