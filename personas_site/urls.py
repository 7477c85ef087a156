"""Every address of the project."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from learning.urls import persona_urls, review_urls
from personas.record_urls import audit_urls, every_audit_urls, token_urls
from personas.urls import invitation_urls, member_urls
from personas.views.lists import persona_list
from personas_site import tenant_settings, views

tenant_urls: list[URLPattern | URLResolver] = [
    path("", views.tenant_overview, name="tenant"),
    path("review/", include(review_urls)),
    path("tokens/", include(token_urls)),
    path("audit/", include(audit_urls)),
    path("personas/", persona_list, name="personas"),
    path("personas/<uuid:pk>/", views.persona_overview, name="persona"),
    path("personas/<uuid:pk>/instructions/", views.persona_history, name="history"),
    path("personas/<uuid:pk>/", include(persona_urls)),
    path("members/", include(member_urls)),
    path("settings/", tenant_settings.tenant_settings, name="tenant_settings"),
    path("settings/name/", tenant_settings.tenant_name, name="tenant_name"),
    path("settings/rules/", tenant_settings.review_rules, name="review_rules"),
    path("settings/rules/<uuid:pk>/", tenant_settings.rule_request, name="rule_request"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.home, name="home"),
    path("t/<slug:tenant>/", include(tenant_urls)),
    path("audit/", include(every_audit_urls)),
    path("accounts/invitation/", include(invitation_urls)),
    path("accounts/", include("personas_site.accounts_urls")),
    path("admin/", admin.site.urls),
    path("api/", include("personas_site.api")),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
]

handler400 = "personas_site.errors.bad_request"
handler404 = "personas_site.errors.not_found"
handler403 = "personas_site.errors.forbidden"
handler500 = "personas_site.errors.broken"
