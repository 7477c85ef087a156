"""Settings, read from the environment and safe by default.

Without ``DEBUG`` a missing ``SECRET_KEY`` or ``ALLOWED_HOSTS`` refuses to start and says what to set.
"""

from datetime import timedelta
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from personas_site.mail import mailer

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEBUG = env.bool("DEBUG", default=False)
KNOWN_KEY = "only-for-debug-and-known-to-everybody"
THIS_MACHINE = ["127.0.0.1", "localhost", "[::1]"]
SECRET_KEY = env.str("SECRET_KEY", default=KNOWN_KEY if DEBUG else "")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=THIS_MACHINE if DEBUG else [])
if not DEBUG and (len(SECRET_KEY) < 50 or SECRET_KEY == KNOWN_KEY):
    raise ImproperlyConfigured(
        "Set SECRET_KEY to a random text of at least 50 characters, or DEBUG=1 for a trial on this machine."
    )
if not DEBUG and (not ALLOWED_HOSTS or "*" in ALLOWED_HOSTS):
    raise ImproperlyConfigured(
        "Set ALLOWED_HOSTS to the host names this server answers for, separated by commas. A star is none: links in "
        "mail would lead wherever a request says."
    )
if DEBUG and SECRET_KEY == KNOWN_KEY and not set(ALLOWED_HOSTS) <= set(THIS_MACHINE):
    raise ImproperlyConfigured("DEBUG=1 with other hosts than this machine takes a SECRET_KEY of your own.")
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "personas_site.apps.StaffAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "axes",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "guardian",
    "personas",
    "learning",
    "runtime",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "personas_site.middleware.PermissionsPolicyMiddleware",
    "personas_site.middleware.RequestIdMiddleware",
    "personas_site.middleware.BodyLimitMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "personas_site.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "personas_site.login_middleware.SecondFactorMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "personas_site.middleware.RefusalMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "personas_site.urls"
ASGI_APPLICATION = "personas_site.asgi.application"
WSGI_APPLICATION = "personas_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "personas_site.navigation.navigation",
            ],
            "builtins": [
                "django.templatetags.static",
                "personas_site.templatetags.look",
                "personas_site.templatetags.diff",
            ],
        },
    }
]

# One database for everything: SQLite for the first run, PostgreSQL by DATABASE_URL.
DATABASE_URL = env.str("DATABASE_URL", default="") or f"sqlite:///{BASE_DIR / 'var' / 'personas.sqlite3'}"
DATABASES = {"default": env.db_url_config(DATABASE_URL)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    Path(DATABASES["default"]["NAME"]).parent.mkdir(parents=True, exist_ok=True)
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA recursive_triggers=ON;",
    }
else:
    DATABASES["default"]["OPTIONS"] = {
        "pool": {"min_size": 1, "max_size": env.int("DATABASE_POOL", default=8), "timeout": 10},
        # Nothing is prepared by itself; the resolve statement asks for it (see personas/resolve.py).
        "prepare_threshold": 10**9,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Holds counts of failed attempts and nothing else. In memory each process counts for itself.
CACHES = {"default": env.cache_url("CACHE_URL", default="locmemcache://?max_entries=10000")}

AUTH_USER_MODEL = "personas.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "personas.permissions.PersonBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
GUARDIAN_MONKEY_PATCH_USER = False
CSRF_FAILURE_VIEW = "personas_site.errors.csrf_failure"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
PASSWORD_HASHERS = [  # the first one hashes; what the others hashed is hashed anew at the next log-in
    f"django.contrib.auth.hashers.{name}PasswordHasher" for name in ("Argon2", "PBKDF2", "Scrypt")
]
PASSWORD_RESET_TIMEOUT = 2 * 3600
# Staff, and reviewers of tenants that want a second person, must set up two-factor log-in.
MFA_REQUIRED = env.bool("MFA_REQUIRED", default=not DEBUG)
OTP_TOTP_ISSUER = "Personas"
OTP_STATIC_THROTTLE_FACTOR = 0  # recovery codes have 80 bits; the lock-out below counts them too
OTP_ADMIN_HIDE_SENSITIVE_DATA = True
# After 5 failures of one name from one address neither the name is tried from there again for 15 minutes; after 50
# from one address, no name at all (see personas_site/login_limits.py).
AXES_HANDLER = "personas_site.login_limits.LimitHandler"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_CALLABLE = "personas_site.login_limits.counted_name"
AXES_CLIENT_IP_CALLABLE = "personas_site.login_limits.counted_address"
AXES_LOCKOUT_CALLABLE = "personas_site.login_limits.locked_out"
AXES_SENSITIVE_PARAMETERS = ["username", "password", "code", "proof", "old_password", "new_password1", "new_password2"]
AXES_SENSITIVE_PARAMETERS += ["csrfmiddlewaretoken", "ip_address"]
AXES_DISABLE_ACCESS_LOG = True  # the audit says who logged in
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# Mail goes to the console until EMAIL_URL says where, as smtp+tls://user:password@host:587.
MAILERS = {"default": mailer(env.email_url_config(env.str("EMAIL_URL", default="") or "consolemail://"))}
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", default="personas@localhost")

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "static-collected"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG

# 100,000 characters of instructions, each up to 12 bytes when a form encodes it, twice (text and edit).
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024

SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HTTPS = env.bool("SECURE_HTTPS", default=not DEBUG)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = SECURE_HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SECURE_HSTS_SECONDS = 31_536_000 if SECURE_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE_HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "personas_site.logs.RequestIdFilter"}},
    "formatters": {"line": {"format": "{asctime} {levelname} {name} [{request_id}] {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request_id"]}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "axes": {"level": "WARNING"},  # failures and lock-outs, not each success
        # Django gives these handlers of their own, which would print every line twice.
        **{name: {"handlers": [], "propagate": True} for name in ("django", "django.server")},
    },
}
