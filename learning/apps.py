"""How an agent changes: proposals and review."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    name = "learning"

    def ready(self) -> None:
        from learning.audit_pages import proposal_pages
        from learning.services.review import close_pending
        from personas import audit_reading, hooks

        if close_pending not in hooks.persona_archived:
            hooks.persona_archived.append(close_pending)
        audit_reading.PAGES["directiveproposal"] = proposal_pages
