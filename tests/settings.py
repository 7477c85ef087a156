"""Settings of the test suite: the real ones with a known key, fast passwords and plain static files."""

import os

os.environ.setdefault("DEBUG", "0")
os.environ.setdefault("SECRET_KEY", "known-to-the-tests-alone-and-long-enough-to-be-taken-as-one")
os.environ.setdefault("ALLOWED_HOSTS", "testserver,localhost,127.0.0.1")
os.environ.setdefault("SECURE_HTTPS", "0")

from personas_site.settings import *  # noqa: F403

MFA_REQUIRED = False  # most tests log people in without an app; those of the two-factor log-in turn it on
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
