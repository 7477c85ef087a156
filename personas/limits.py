"""How often something failed lately, counted in Django's cache. No row of the database is read or written."""

import hashlib
import ipaddress
import math
import time
from dataclasses import dataclass
from functools import lru_cache

from django.core.cache import cache


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``most`` failures within ``seconds`` of the first one, for each thing that is counted.

    ``name`` keeps limits apart in the cache.
    """

    name: str
    most: int
    seconds: int = 60

    def reached(self, counted: str) -> bool:
        """Whether ``counted``, an address or the key of an account, has had its failures."""
        return (cache.get(self._key(counted)) or 0) >= self.most

    def fail(self, counted: str) -> int:
        """Count one failure, and return how many there are by now."""
        key = self._key(counted)
        if cache.add(key, 1, self.seconds):
            cache.set(f"{key}:ends", time.time() + self.seconds, self.seconds)
            return 1
        try:
            return cache.incr(key)
        except ValueError:  # it ended between the two calls
            return 1

    def wait(self, counted: str) -> int:
        """Whole seconds until the count starts anew, at least 1."""
        ends = cache.get(f"{self._key(counted)}:ends") or 0.0
        return max(1, math.ceil(ends - time.time()))

    def _key(self, counted: str) -> str:
        # Hashed: a name can be longer than a key may be, and hold what a key may not.
        return f"{self.name}:{hashlib.sha256(counted.encode()).hexdigest()}"


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """What failures of an address are counted for: the address, or with IPv6 its /64, which one person has whole."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, 64), strict=False).network_address)
    return str(found)
