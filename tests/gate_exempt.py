"""Which public services there are, and why some need not be driven to prove the gate."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

EXEMPT = {
    "accounts.check_admin_stays": "reads and holds",
    "accounts.check_admins_stay": "reads and holds",
    "accounts.clean_part": "a text to a text",
    "accounts.create_person": "an account without any right; making many would only slow the machine down",
    "accounts.create_service_account": "an account that may look",
    "accounts.revoke_tokens": "ends tokens; for services",
    "activation.check_run_as": "reads",
    "activation.lock_persona": "reads and holds",
    "activation.require_seen": "reads",
    "agents.find_agent_class": "reads",
    "audit_export.record_export": "an audit row alone",
    "bindings.as_binding": "reads",
    "bindings.availability_below": "reads",
    "checks.checked": "checks a row and writes nothing",
    "checks.clean_note": "a text to a text",
    "checks.saved": "writes the row a service made; no door of its own",
    "imports.no_progress": "does nothing",
    "imports.rationale_of": "reads",
    "invitations.accept_invitation": "gives a role that somebody else chose: tests/test_invitations.py",
    "invitations.find_invitation": "reads",
    "offers.offer_of": "reads",
    "offers.revoke_offer": "ends an offer; for services",
    "offers.revoke_offers_by": "ends offers; for services",
    "offers.revoke_offers_to": "ends offers; for services",
    "invitations.join_by_invitation": "gives a role that somebody else chose: tests/test_invitations.py",
    "passwords.change_password": "a person's own log-in",
    "passwords.may_mail_reset": "a person's own log-in",
    "passwords.reset_password": "a person's own log-in",
    "personas.clean_text": "a text to a text",
    "proposals.clean_rationale": "a text to a text",
    "review.authors_of": "reads",
    "review.needs": "reads",
    "review.rules_of": "reads",
    "review.standing_of": "reads",
    "review.text_to_decide": "reads",
    "second_factor.check_code": "a person's own log-in",
    "second_factor.disable_second_factor": "a person's own log-in",
    "second_factor.enable_second_factor": "a person's own log-in",
    "second_factor.factor_stamp": "reads",
    "second_factor.has_second_factor": "reads",
    "second_factor.needs_second_factor": "reads",
    "second_factor.new_key": "a key to be shown",
    "second_factor.readable_key": "a text to a text",
    "second_factor.recovery_codes_left": "reads",
    "second_factor.renew_recovery_codes": "a person's own log-in",
    "second_factor.seconds_to_wait": "reads",
    "second_factor.setup_address": "a text to a text",
    "tenants.lock_path": "reads and holds",
    "tenants.lowers": "reads",
    "tenants.may_lower_alone": "reads",
    "tokens.token_digest": "a text to a text",
}


def public_services() -> dict[str, Callable[..., Any]]:
    """Every public function of the service modules, as ``module.function``."""
    found = {}
    for package in ("personas.services", "learning.services"):
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
            module = importlib.import_module(f"{package}.{info.name}")
            for name, function in inspect.getmembers(module, inspect.isfunction):
                if function.__module__ == module.__name__ and not name.startswith("_"):
                    found[f"{info.name}.{name}"] = function
    return found
