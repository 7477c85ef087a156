"""Django's admin, with our site in place of its own."""

from django.contrib.admin.apps import AdminConfig


class StaffAdminConfig(AdminConfig):
    default_site = "personas_site.admin_site.StaffSite"
