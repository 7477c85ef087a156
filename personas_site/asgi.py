"""The ASGI application: everything on one port."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "personas_site.settings")
application = get_asgi_application()
