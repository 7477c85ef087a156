"""How an agent runs."""

from django.apps import AppConfig


class RuntimeConfig(AppConfig):
    name = "runtime"
