"""One verb, one transaction. Every function checks the right, writes its audit row and raises `Refused`."""
