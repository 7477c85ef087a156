"""What higher apps want to hear of, called inside the service's transaction. Filled in ``AppConfig.ready``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from personas.actors import Actor
    from personas.models import AgentPersona, Tenant, User

Hook = Callable[["AgentPersona", "Actor"], None]

persona_archived: list[Hook] = []
persona_activated: list[Hook] = []

PersonHook = Callable[["User", "Tenant", "Actor"], None]

# An account has lost everything it had in a tenant; who did it comes last.
person_removed: list[PersonHook] = []
