"""A POST that carries an Idempotency-Key has its effect once, and its answer again."""

import functools
import hashlib
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.http import HttpResponse
from django.utils import timezone
from ninja import Status
from pydantic import BaseModel

from personas.api_support.bearer import TokenRequest
from personas.api_support.problems import Problem, invalid
from personas.models import APIToken, StoredAnswer

KEPT_FOR = timedelta(hours=24)
KEY = re.compile(r"[\x21-\x7e]{1,200}")

Operation = Callable[..., Status[BaseModel]]


def answer_once(operation: Operation) -> Callable[..., HttpResponse]:
    """Let an operation be repeated safely by the same token, to the same path, with the same key and body.

    The answer is stored in the transaction of the effect. A refusal raises, so nothing of it is kept and the call can
    be tried again. Raises a 422 `Problem` for a bad key or for a key that came with another body, 409 while the first
    call still runs.
    """

    @functools.wraps(operation)
    def run(request: TokenRequest, **arguments: Any) -> HttpResponse:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return _answer(*_text_of(operation(request, **arguments)))
        if not KEY.fullmatch(key):
            raise invalid("Idempotency-Key", "A key is 1 to 200 visible ASCII characters without spaces.")
        token = request.auth.token
        assert token is not None
        with transaction.atomic():
            return _once(token, request, key, lambda: operation(request, **arguments))

    return run


def _once(token: APIToken, request: TokenRequest, key: str, operation: Callable[[], Status[BaseModel]]) -> HttpResponse:
    place = {"token": token, "method": request.method, "path": request.path, "key": key}
    body_sha256 = hashlib.sha256(request.body).hexdigest()
    _claim(f"{token.pk} {request.method} {request.path} {key}")
    old_answers().filter(token=token).delete()
    stored = StoredAnswer.objects.filter(**place).first()
    if stored is None:
        status, text = _text_of(operation())
        StoredAnswer(**place, body_sha256=body_sha256, status=status, body=text).save(force_insert=True)
        return _answer(status, text)
    if stored.body_sha256 != body_sha256:
        raise Problem(422, "idempotency_mismatch", "This Idempotency-Key came with another body before.")
    return _answer(stored.status, stored.body)


def _claim(place: str) -> None:
    """Hold the key until the end of the transaction. On SQLite the transaction itself waits for every other one."""
    if connection.vendor != "postgresql":
        return
    number = int.from_bytes(hashlib.sha256(place.encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise Problem(409, "idempotency_running", "The first call with this Idempotency-Key is still running.")


def old_answers() -> Any:
    """Stored answers that are kept no longer. Each call with a key deletes those of its own token."""
    return StoredAnswer.objects.filter(created_at__lt=timezone.now() - KEPT_FOR)


def _text_of(answer: Status[BaseModel]) -> tuple[int, str]:
    # The text is stored, not the object: jsonb would give the members back in another order.
    return answer.status_code, answer.value.model_dump_json()


def _answer(status: int, text: str) -> HttpResponse:
    return HttpResponse(text, status=status, content_type="application/json")
