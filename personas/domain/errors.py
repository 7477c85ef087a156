"""What the rules refuse, in words a person can act on. The ``code`` is stable and part of the API."""


class Refused(Exception):
    """A rule refuses what was asked for.

    Parameters: ``message`` says what is wrong and what to do; ``field`` names the input it belongs to.
    """

    code = "refused"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class Invalid(Refused):
    """The input itself is wrong."""

    code = "invalid"


class Conflict(Refused):
    """The input is fine, but the state of things does not allow it now."""

    code = "conflict"


class NotPermitted(Refused):
    """The actor may see the thing, but not do this to it.

    ``right`` is the codename that was missing and ``target`` the row it was missing on, where one right decides: the
    audit of refusals names both.
    """

    code = "not_permitted"

    def __init__(self, message: str, *, field: str | None = None, right: str = "", target: object = None) -> None:
        super().__init__(message, field=field)
        self.right = right
        self.target = target


class Stale(Conflict):
    """What was seen is not what is live, or not what is proposed now."""

    code = "stale_revision"


class Locked(Conflict):
    code = "locked"


class SecondPersonRequired(Conflict):
    code = "second_person_required"


class UnknownAgentClass(Refused):
    """No agent class has this name; ``suggestions`` are the nearest ones."""

    code = "unknown_agent_class"

    def __init__(self, name: str, suggestions: list[str]) -> None:
        hint = f" Did you mean {' or '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"There is no agent class “{name}”.{hint}", field="agent_class")
        self.suggestions = suggestions
