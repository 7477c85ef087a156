"""The tenants, accounts and agent classes of the demo."""

from typing import Any

from personas.domain.rights import Role

PASSWORD = "demo"  # noqa: S105 - for a trial on one's own machine; refused outside DEBUG

# Slug, name, slug of the parent.
TENANTS = [
    ("acme", "Acme", None),
    ("acme-support", "Acme Support", "acme"),
    ("acme-sales", "Acme Sales", "acme"),
    ("globex", "Globex", None),
]
ACME = ("acme", "acme-support", "acme-sales")

STAFF = ("staff", "Sam Okafor")
# User name, name, roles, tenants, what the account may do in words.
PEOPLE: list[tuple[str, str, tuple[Role, ...], tuple[str, ...], str]] = [
    ("admin", "Ana Lindqvist", (Role.ADMIN,), ACME, "manages members, agents and tokens; does not review"),
    ("reviewer", "Rui Tanaka", (Role.REVIEWER,), ACME, "writes, reviews, and makes directives live"),
    ("editor", "Ines Duarte", (Role.EDITOR,), ACME, "writes drafts and proposals"),
    ("viewer", "Vera Novak", (Role.VIEWER,), ACME, "looks"),
    ("outsider", "Omar Haddad", tuple(Role), ("globex",), "does everything in Globex, and sees nothing of Acme"),
]
# User name, name, tenant.
SERVICES = [
    ("svc-acme", "Acme runtime", "acme"),
    ("svc-acme-support", "Support runtime", "acme-support"),
    ("svc-acme-sales", "Sales runtime", "acme-sales"),
    ("svc-globex", "Globex runtime", "globex"),
]

SUPPORT: dict[str, Any] = {
    "instructions": (
        "You answer customers of the company you work for. Say that you are an assistant when you are asked. Answer "
        "what was asked, in the language it was asked in, and hand over to a person when you cannot help."
    ),
    "tools": ["kb.search", "order.lookup", "ticket.comment"],
    "catalogue": [
        {"id": "kb.search", "title": "Search the knowledge base", "description": "Finds articles by words."},
        {"id": "order.lookup", "title": "Look up an order", "description": "Order, delivery and warranty by number."},
        {"id": "ticket.comment", "title": "Comment on a ticket", "description": "Adds a note that the customer sees."},
        {"id": "ticket.close", "title": "Close a ticket", "description": "Ends a case; the customer is told."},
        {"id": "visit.book", "title": "Book a visit", "description": "Puts a technician's visit on the calendar."},
        {"id": "refund.start", "title": "Start a refund", "description": "Asks accounting to pay an amount back."},
    ],
    "permissions": {
        "tool:kb.search": True,
        "tool:order.lookup": True,
        "tool:ticket.comment": True,
        "tool:ticket.close": True,
        "tool:visit.book": True,
        "tool:refund.start": False,
        "data:customer-address": True,
    },
    "ui_slots": [
        {
            "id": "hours",
            "title": "Opening hours",
            "schema": {
                "type": "object",
                "properties": {
                    "opens": {"type": "string", "title": "Opens at", "maxLength": 5},
                    "closes": {"type": "string", "title": "Closes at", "maxLength": 5},
                    "weekend": {"type": "boolean", "title": "Open at weekends"},
                },
            },
        }
    ],
    "admin_routes": [{"label": "Knowledge base", "path": "/kb/"}, {"label": "Ticket queues", "path": "/tickets/"}],
}
WRITER: dict[str, Any] = {
    "instructions": "You write for the company you work for. Plain words, short sentences, no promises of your own.",
    "tools": ["kb.search", "document.read"],
    "catalogue": [
        {"id": "kb.search", "title": "Search the knowledge base", "description": "Finds articles by words."},
        {"id": "document.read", "title": "Read a document", "description": "Opens a document of the tenant."},
        {"id": "document.write", "title": "Write a document", "description": "Saves a draft beside the original."},
        {"id": "document.publish", "title": "Publish a document", "description": "Shows a document to customers."},
    ],
    "permissions": {
        "tool:kb.search": True,
        "tool:document.read": True,
        "tool:document.write": True,
        "tool:document.publish": False,
    },
    "memory_scope": "writer",
    "ui_slots": [
        {
            "id": "style",
            "title": "House style",
            "schema": {
                "type": "object",
                "properties": {"spelling": {"type": "string", "title": "Spelling", "enum": ["British", "American"]}},
            },
        }
    ],
}
CLASSES = [("@acme/agents:Support", "Support", SUPPORT), ("@acme/agents:Writer", "Writer", WRITER)]

# Tenant, agent class, permissions that differ from the manifest's, enforced below or not.
BINDINGS: list[tuple[str, str, dict[str, bool], bool]] = [
    ("acme", "Support", {}, False),
    ("acme", "Writer", {"tool:document.publish": False, "tool:document.write": True}, True),
    ("acme-support", "Support", {"tool:refund.start": True}, False),
    ("globex", "Support", {"tool:visit.book": False}, False),
    ("globex", "Writer", {}, False),
]
