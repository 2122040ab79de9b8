"""Every setting of the site. A value comes from the environment or, if absent there, from `.env` beside manage.py.

`.env.example` lists the variables with their defaults. settings_parsers.py parses values that are not of a plain type.
"""

import os
import sys
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from socialsite import settings_parsers
from socialsite.logs import configure_structlog, logging_settings
from socialsite.site.settings import parse_environment
from socialsite.store.address import with_redis_scheme

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()  # type: ignore[no-untyped-call]
environ.Env.read_env(BASE_DIR / ".env")

# The site
REDIS_URL: str = with_redis_scheme(env.str("REDIS_URL", default="")) or f"embedded://{BASE_DIR / 'data'}"
# quickstart stores a secret key beside its data, and other commands that use this data read it there.
SECRET_KEY: str = env.str("SECRET_KEY", default="") or settings_parsers.read_secret_key(REDIS_URL)
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set: put a long random text into the environment or .env, or use `make run`."
    )
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG: bool = env.bool("DEBUG", default=False)
HTTPS: bool = env.bool("HTTPS", default=False)
COMPRESS_PAGES: bool = env.bool("COMPRESS_PAGES", default=not HTTPS)  # with HTTPS the proxy compresses pages
ALLOWED_HOSTS = settings_parsers.parse_allowed_hosts(
    env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
)
CSRF_TRUSTED_ORIGINS = settings_parsers.parse_trusted_origins(env.list("CSRF_TRUSTED_ORIGINS", default=[]))
TRUSTED_PROXIES = settings_parsers.parse_networks("TRUSTED_PROXIES", env.list("TRUSTED_PROXIES", default=[]))
METRICS_ALLOWED = settings_parsers.parse_networks(
    "METRICS_ALLOWED", env.list("METRICS_ALLOWED", default=["127.0.0.0/8", "::1"])
)
METRICS_TOKEN: str = env.str("METRICS_TOKEN", default="")
METRICS_DIR: str = env.str("METRICS_DIR", default="")  # analytics/multiprocess.py reads the variable earlier
SECURITY_CONTACT = settings_parsers.parse_security_contact(env.str("SECURITY_CONTACT", default=""))
# The address of the site in mails and for passkeys, without a slash at the end. Requests never change it.
SITE_URL = settings_parsers.parse_site_url(
    env.str("SITE_URL", default="") or settings_parsers.default_site_url(ALLOWED_HOSTS, HTTPS)
)
LINK_PREVIEWS: bool = env.bool("LINK_PREVIEWS", default=True)
PUSH: bool = env.bool("PUSH", default=True)
VAPID_PRIVATE_KEY: str = env.str("VAPID_PRIVATE_KEY", default="")
STAFF_SECOND_FACTOR: bool = env.bool("STAFF_SECOND_FACTOR", default=not DEBUG)  # quickstart sets it to 0
# Settings of the site that staff can otherwise change on /ops/site/
SITE_ENVIRONMENT = parse_environment(os.environ)

# Mail: an SMTP server, or without MAIL_URL files in the data directory
MAIL_ROOT = settings_parsers.default_mail_root(REDIS_URL, BASE_DIR)
MAIL_URL: str = env.str("MAIL_URL", default="")
_MAIL = settings_parsers.parse_mail_url(MAIL_URL)
EMAIL_BACKEND: str = _MAIL["EMAIL_BACKEND"]
EMAIL_HOST, EMAIL_PORT = _MAIL.get("EMAIL_HOST") or "", _MAIL.get("EMAIL_PORT") or 0
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _MAIL.get("EMAIL_HOST_USER") or "", _MAIL.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = bool(_MAIL.get("EMAIL_USE_TLS")), bool(_MAIL.get("EMAIL_USE_SSL"))
EMAIL_FILE_PATH = str(MAIL_ROOT)
EMAIL_TIMEOUT = 10  # seconds of each step of the dialogue with the server
MAIL_FROM: str = env.str("MAIL_FROM", default="") or settings_parsers.default_mail_from(SITE_URL)
MAIL_REQUIRED: bool = env.bool("MAIL_REQUIRED", default=False)
PASSWORD_RESET_TIMEOUT = 3_600  # seconds

# Alerts of operators (socialsite/alerts)
ALERT_MAIL: list[str] = env.list("ALERT_MAIL", default=[])
ALERT_INTERVAL_S = settings_parsers.parse_seconds("ALERT_INTERVAL", env.str("ALERT_INTERVAL", default="60"))
ALERT_BACKUP_AGE_HOURS = settings_parsers.parse_int(
    "ALERT_BACKUP_AGE_HOURS", env.str("ALERT_BACKUP_AGE_HOURS", default="0" if DEBUG else "48")
)  # 0 = not checked; quickstart sets it to 0

# Components whose data is not at REDIS_URL
REDIS_COMPONENT_URLS: dict[str, str] = {
    component: with_redis_scheme(url)
    for component in settings_parsers.COMPONENTS
    if (url := env.str(f"REDIS_{component.upper()}_URL", default=""))
}
MEMORY_RESERVE = settings_parsers.parse_bytes("MEMORY_RESERVE", env.str("MEMORY_RESERVE", default="16mb"))  # bytes
ARCHIVE_URL: str = env.str("ARCHIVE_URL", default="") or settings_parsers.default_archive_url(REDIS_URL, BASE_DIR)

# Pictures: a folder that all machines share, or an S3 bucket. Quotas are in bytes; 0 = no quota
MEDIA_ROOT = Path(env.str("MEDIA_ROOT", default="") or settings_parsers.default_media_root(REDIS_URL, BASE_DIR))
MEDIA_S3_BUCKET: str = env.str("MEDIA_S3_BUCKET", default="")
MEDIA_S3_ENDPOINT: str = env.str("MEDIA_S3_ENDPOINT", default="")
MEDIA_ACCEL_PATH: str = env.str("MEDIA_ACCEL_PATH", default="")  # internal location of nginx with the files
MEDIA_ACCOUNT_QUOTA = settings_parsers.parse_bytes("MEDIA_ACCOUNT_QUOTA", env.str("MEDIA_ACCOUNT_QUOTA", default="1gb"))
MEDIA_SITE_QUOTA = settings_parsers.parse_bytes("MEDIA_SITE_QUOTA", env.str("MEDIA_SITE_QUOTA", default="0"))


def _read_count(name: str, default: int, lowest: int = 1) -> int:
    return settings_parsers.require_at_least(
        name, settings_parsers.parse_int(name, env.str(name, default=str(default))), lowest
    )


REQUIRE_REPLICAS = _read_count("REQUIRE_REPLICAS", 0, lowest=0)

# Caps and sizes
POST_MAX_LENGTH = _read_count("POST_MAX_LENGTH", 500)  # graphemes
POLL_MAX_OPTIONS = _read_count("POLL_MAX_OPTIONS", 4)
HOME_CAP = _read_count("HOME_CAP", 1000)
HOME_TTL_DAYS = _read_count("HOME_TTL_DAYS", 30)
PROFILE_CAP = _read_count("PROFILE_CAP", 200_000)
PUBLIC_CAP = _read_count("PUBLIC_CAP", 1000)
LIST_CAP = _read_count("LIST_CAP", 1000)
LIST_MEMBERS_CAP = _read_count("LIST_MEMBERS_CAP", 1000)
FOLLOWING_CAP = _read_count("FOLLOWING_CAP", 5000)
NEW_HASHTAGS_PER_DAY = _read_count("NEW_HASHTAGS_PER_DAY", 100)  # of an account; more are links only
POSTS_PER_DAY = _read_count("POSTS_PER_DAY", 1000, lowest=0)  # of an account; 0 = no limit
BYTES_PER_DAY = settings_parsers.parse_bytes("BYTES_PER_DAY", env.str("BYTES_PER_DAY", default="8mb"))  # 0 = no limit
IMPORT_BYTES_PER_DAY = settings_parsers.parse_bytes(
    "IMPORT_BYTES_PER_DAY", env.str("IMPORT_BYTES_PER_DAY", default="256mb")
)
SITE_BYTES_PER_DAY = settings_parsers.parse_bytes("SITE_BYTES_PER_DAY", env.str("SITE_BYTES_PER_DAY", default="1gb"))
POSTS_PER_PASS = _read_count("POSTS_PER_PASS", 1000)
FOLLOW_PARTITIONS = _read_count("FOLLOW_PARTITIONS", 16)
PROFILE_PARTITIONS = _read_count("PROFILE_PARTITIONS", 1)
IMPORT_MAX_BYTES = settings_parsers.parse_bytes("IMPORT_MAX_BYTES", env.str("IMPORT_MAX_BYTES", default="1gb"))
DELETION_GRACE_DAYS = _read_count("DELETION_GRACE_DAYS", 7, lowest=0)  # 0 = accounts are deleted at once
ARCHIVE_KEEP_DAYS = _read_count("ARCHIVE_KEEP_DAYS", 7)  # exports, and imports that can be undone
PULL_THRESHOLD = _read_count("PULL_THRESHOLD", 0, lowest=0)  # followers; 0 = every post is syndicated

# Requests per minute by rule; None = no limit
RATE_LIMITS: dict[str, int | None] = {
    rule: settings_parsers.parse_rate(name, env.str(name, default=default))
    for rule, default in settings_parsers.DEFAULT_RATE_LIMITS.items()
    for name in [f"RATE_LIMIT_{rule.upper()}"]
}

# Django
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "socialsite",
    "accounts",
    "timelines",
]
# All middleware is async, because each sync middleware costs two thread switches per page. The order matters: error
# responses need the headers, language and token that earlier middleware sets; the session needs services and address.
MIDDLEWARE = [
    "socialsite.web.middleware.access_log.AccessLogMiddleware",
    "socialsite.web.middleware.django_async.AsyncSecurityMiddleware",
    "socialsite.web.middleware.headers.HeadersMiddleware",
    "socialsite.web.middleware.django_async.AsyncLocaleMiddleware",
    "socialsite.web.middleware.django_async.AsyncCommonMiddleware",
    "socialsite.web.middleware.django_async.AsyncCsrfMiddleware",
    "socialsite.web.middleware.django_async.AsyncMessageMiddleware",
    "socialsite.web.middleware.address.AddressMiddleware",
    "socialsite.web.middleware.request_size.RequestSizeMiddleware",
    "socialsite.web.middleware.deadline.DeadlineMiddleware",
    "socialsite.web.middleware.services.ServicesMiddleware",
    "socialsite.web.middleware.durability.DurabilityMiddleware",
    "accounts.sessions.middleware.SessionMiddleware",
    "socialsite.web.middleware.members_only.MembersOnlyMiddleware",
    "socialsite.web.middleware.errors.ErrorsMiddleware",
]
CSRF_FAILURE_VIEW = "socialsite.web.views.csrf_failure"
SERVICES_OPENER = "socialsite.startup.open_services"  # socialsite/web/services.py calls it
SIDE_PANEL = "timelines.home_page.side_panel.render_side_panel"  # shown beside every page
ROOT_URLCONF = "socialsite.urls"
ASGI_APPLICATION = "socialsite.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            # `loaders` is not set, because Django caches compiled templates only without it.
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"staff": "socialsite.admin.labels"},
        },
    }
]
DATABASES: dict[str, dict[str, str]] = {}  # Redis is the only database
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
_CACHE_URL = REDIS_COMPONENT_URLS.get("cache", "")
CACHES = settings_parsers.build_cache_settings(_CACHE_URL or REDIS_URL, is_explicit=bool(_CACHE_URL))
DEFAULT_CHARSET = "utf-8"
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500  # 50 phrases of a filter have 4 fields each; there are 183 languages
DATA_UPLOAD_MAX_NUMBER_FILES = 4

# Accounts and sessions
AUTH_USER_MODEL = "accounts.Account"
AUTHENTICATION_BACKENDS = ["accounts.backends.HandleBackend"]
SESSION_ENGINE = "accounts.sessions.service"
MESSAGE_STORAGE = "socialsite.web.messages.LazyCookieStorage"
LOGIN_URL = "/accounts/login/"
CONFIRM_URL = "/accounts/confirm/"  # asks for the password or a second factor again
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "/"
PASSWORD_HASHERS = [
    "accounts.accounts.passwords.SiteArgon2Hasher",
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
_VALIDATION = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_VALIDATION}.MinimumLengthValidator", "OPTIONS": {"min_length": 8}},
    {"NAME": f"{_VALIDATION}.CommonPasswordValidator"},
    {"NAME": f"{_VALIDATION}.NumericPasswordValidator"},
    {
        "NAME": f"{_VALIDATION}.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("handle", "display_name")},
    },
]

# Transport. With HTTPS, a proxy in front of daphne terminates TLS and overwrites the client's X-Forwarded-Proto.
_COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrftoken"
VIEWER_COOKIE_NAME = f"{_COOKIE_PREFIX}viewer"
PENDING_LOGIN_COOKIE_NAME = f"{_COOKIE_PREFIX}login"
KNOWN_BROWSER_COOKIE_NAME = f"{_COOKIE_PREFIX}known"
LANGUAGE_COOKIE_NAME = f"{_COOKIE_PREFIX}language"
THEME_COOKIE_NAME = f"{_COOKIE_PREFIX}theme"
TEXT_SIZE_COOKIE_NAME = f"{_COOKIE_PREFIX}textsize"
DESCRIPTIONS_COOKIE_NAME = f"{_COOKIE_PREFIX}descriptions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(livez|readyz|metrics)$"]  # requested without the proxy
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = False  # other sites may use subdomains
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS = [
    # These checks look for Django's sync middleware by name. The async middleware of socialsite.web.middleware
    # sets the same headers and checks the same tokens (tested in tests/web).
    "security.W001",
    "security.W002",
    "security.W003",
]

# Languages and time zone
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("es", "Español"),
    ("pt", "Português"),
    ("pl", "Polski"),
    ("ja", "日本語"),
    ("ar", "العربية"),
]
FORMAT_MODULE_PATH = "socialsite.formats"  # only what differs from Django's formats and agrees with Intl of browsers
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

# Static files: hashed and compressed after collectstatic, otherwise served from their source folders
STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default="") or BASE_DIR / "staticfiles")
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_COLLECTED: bool = not DEBUG and (
    (STATIC_ROOT / "staticfiles.json").exists() or sys.argv[1:2] in (["collectstatic"], ["quickstart"])
)
_STATIC_STORAGE = (
    "socialsite.web.static_storage.SiteStaticFilesStorage"
    if STATIC_COLLECTED
    else "django.contrib.staticfiles.storage.StaticFilesStorage"
)
STORAGES = {
    "default": settings_parsers.build_media_storage(MEDIA_ROOT, MEDIA_S3_BUCKET, MEDIA_S3_ENDPOINT),
    "staticfiles": {"BACKEND": _STATIC_STORAGE},
}
WHITENOISE_USE_FINDERS = not STATIC_COLLECTED
WHITENOISE_AUTOREFRESH = DEBUG

# Logs
LOG_LEVEL: str = env.str("LOG_LEVEL", default="INFO").upper()
LOGGING = logging_settings(LOG_LEVEL, readable=DEBUG)
configure_structlog()
