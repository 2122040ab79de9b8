"""No apps, no middleware, no database."""

SECRET_KEY = "only-for-measuring-on-this-machine"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "benchmarks.hello.urls"
USE_TZ = True
