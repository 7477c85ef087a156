"""How an agent changes: proposals and review."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    name = "learning"

    def ready(self) -> None:
        from learning.services.review import close_pending
        from personas import hooks

        if close_pending not in hooks.persona_archived:
            hooks.persona_archived.append(close_pending)
