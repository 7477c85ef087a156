"""Addresses of tokens and of the audit."""

from django.urls import path

from personas.views import audit, tokens

token_urls = [
    path("", tokens.token_list, name="tokens"),
    path("new/", tokens.token_create, name="token_create"),
    path("<uuid:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
]

audit_urls = [
    path("", audit.audit_list, name="audit"),
    path("export/", audit.audit_export, name="audit_export"),
    path("<uuid:pk>/", audit.audit_entry, name="audit_entry"),
]

# For superusers: every tenant, and what belongs to none. An entry's own address is for whoever may read it.
every_audit_urls = [
    path("", audit.audit_list, name="every_audit"),
    path("export/", audit.audit_export, name="every_audit_export"),
    path("<uuid:pk>/", audit.any_audit_entry, name="any_audit_entry"),
]
