"""Proposals and reviews. One verb, one transaction; what goes live goes through ``personas.services.activation``."""
