"""What the tests of the import readers share."""

from personas.domain.imports import Fault, Reading


def only_fault(reading: Reading) -> Fault:
    """The single fault of a reading."""
    assert len(reading.faults) == 1, reading.faults
    return reading.faults[0]
