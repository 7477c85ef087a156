"""Addresses of the review desk and of changes to personas, below ``/t/<tenant>/``."""

from django.urls import path

from learning.views import changes, proposal, queue

review_urls = [
    path("", queue.queue, name="queue"),
    path("<uuid:pk>/", proposal.proposal, name="proposal"),
    path("<uuid:pk>/approve/", proposal.approve, name="approve"),
    path("<uuid:pk>/reject/", proposal.reject, name="reject"),
    path("<uuid:pk>/comment/", proposal.comment, name="comment"),
    path("<uuid:pk>/merge/", proposal.merge, name="merge"),
    path("<uuid:pk>/preview/", proposal.preview, name="preview"),
]

persona_urls = [
    path("propose/", changes.propose_change, name="propose"),
    path("propose/preview/", changes.propose_preview, name="propose_preview"),
    path("instructions/<int:number>/", changes.revision, name="revision"),
    path("instructions/<int:number>/roll-back/", changes.roll_back, name="roll_back"),
    path("state/<slug:action>/", changes.change_persona_state, name="persona_state"),
]
