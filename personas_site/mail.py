"""Where mail goes: from an address such as ``smtp+tls://user:password@host:587`` to Django's setting."""

from typing import Any


def mailer(config: dict[str, Any]) -> dict[str, Any]:
    """One entry of ``MAILERS`` from the ``EMAIL_…`` values that django-environ reads out of an ``EMAIL_URL``."""
    backend = config["EMAIL_BACKEND"]
    options: dict[str, Any] = {}
    if backend.endswith("smtp.EmailBackend"):
        options = {
            "host": config["EMAIL_HOST"] or "localhost",
            "port": config["EMAIL_PORT"] or 25,
            "username": config["EMAIL_HOST_USER"] or "",
            "password": config["EMAIL_HOST_PASSWORD"] or "",
            "use_tls": config.get("EMAIL_USE_TLS", False),
            "use_ssl": config.get("EMAIL_USE_SSL", False),
            "timeout": 10,
        }
    elif backend.endswith("filebased.EmailBackend"):
        options = {"file_path": "/" + config["EMAIL_FILE_PATH"]}
    return {"BACKEND": backend, "OPTIONS": options}
