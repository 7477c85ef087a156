"""The other side of TOTP, as an app computes it (RFC 6238), written apart from the library that the server uses."""

import base64
import hashlib
import hmac
import struct
import time


def code_of(key: str, moment: float | None = None, step: int = 0) -> str:
    """Six digits for a base32 key, in any grouping, now or at ``moment``, ``step`` periods of 30 seconds later."""
    counter = int(time.time() if moment is None else moment) // 30 + step
    digest = hmac.new(base64.b32decode(key.replace(" ", "")), struct.pack(">Q", counter), hashlib.sha1).digest()
    start = digest[-1] & 15
    number: int = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06d}"
