"""How an agent changes: proposals and review."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    name = "learning"
