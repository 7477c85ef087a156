"""Addresses of members and invitations."""

from django.urls import path

from personas.views import invitations, members, service_accounts

member_urls = [
    path("", members.member_list, name="members"),
    path("invite/", invitations.invite, name="invite"),
    path("invitations/<uuid:pk>/revoke/", invitations.invitation_revoke, name="invitation_revoke"),
    path("service-accounts/add/", service_accounts.service_account_add, name="service_account_add"),
    path("<uuid:pk>/", members.member, name="member"),
    path("<uuid:pk>/roles/<str:role>/", members.member_role, name="member_role"),
    path("<uuid:pk>/personas/", members.member_persona, name="member_persona"),
    path("<uuid:pk>/remove/", members.member_remove, name="member_remove"),
    path("<uuid:pk>/state/<str:action>/", service_accounts.service_account_state, name="service_account_state"),
]

invitation_urls = [
    path("", invitations.invitation, name="invitation"),
    path("<str:secret>/", invitations.invitation_link, name="invitation_link"),
]
