"""The WSGI application: pages and API, in deployment."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "personas_site.settings")
application = get_wsgi_application()
