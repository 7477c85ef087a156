"""Addresses of tokens and of the audit."""

from django.urls import path

from personas.views import tokens

token_urls = [
    path("", tokens.token_list, name="tokens"),
    path("new/", tokens.token_create, name="token_create"),
    path("<uuid:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
]
