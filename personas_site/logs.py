"""The id of the request in every line of the log. Imported before the apps are ready."""

import logging
from contextvars import ContextVar

current_id: ContextVar[str] = ContextVar("request_id", default="-")


class RequestIdFilter(logging.Filter):
    """Adds the id of the request to every line of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_id.get()
        return True
