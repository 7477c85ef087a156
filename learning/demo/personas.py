"""The personas of the demo, as they are first made."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TEXTS = Path(__file__).parent / "texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaSpec:
    """One persona; ``by`` is who makes it, ``tools`` None means those of the class."""

    tenant: str
    name: str
    text: str
    description: str
    agent_class: str = "Support"
    context: tuple[str, str] = ("", "")
    priority: int = 0
    tools: tuple[str, ...] | None = None
    slots: dict[str, Any] = field(default_factory=dict)
    enable: bool = True
    by: str = "reviewer"


def read_text(name: str) -> str:
    """The instructions in a file beside this one."""
    return (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


PERSONAS = [
    PersonaSpec(
        tenant="acme",
        name="Front desk",
        text=read_text("front-desk"),
        description="Answers wherever no other persona does, in Acme and below.",
        slots={"hours": {"opens": "08:00", "closes": "18:00", "weekend": False}},
    ),
    PersonaSpec(
        tenant="acme",
        name="Chat desk",
        text=read_text("chat-desk"),
        description="The chat window of the web site.",
        context=("channel", "chat"),
        tools=("kb.search", "order.lookup"),
    ),
    PersonaSpec(
        tenant="acme",
        name="客服助手",
        text=read_text("chinese"),
        description="Customers who write in Chinese.",
        context=("language", "zh"),
        tools=("kb.search", "ticket.comment"),
    ),
    PersonaSpec(
        tenant="acme",
        name="Fault codes",
        text=read_text("fault-codes"),
        description="The codes on the display of the heat pump, one by one.",
        context=("topic", "fault-codes"),
        tools=("kb.search", "ticket.comment", "visit.book"),
    ),
    PersonaSpec(
        tenant="acme",
        agent_class="Writer",
        name="Letters",
        text=read_text("letters"),
        description="Letters and mails that people check and send.",
        slots={"style": {"spelling": "British"}},
    ),
    PersonaSpec(
        tenant="acme",
        agent_class="Writer",
        name="Release notes",
        text=read_text("release-notes"),
        description="What is new in the app.",
        context=("document", "release-notes"),
        tools=("document.read", "document.write"),
    ),
    PersonaSpec(
        tenant="acme-support",
        name="Help desk",
        text=read_text("help-desk"),
        description="Second line: tickets the front desk could not answer.",
    ),
    PersonaSpec(
        tenant="acme-support",
        name="Riverside plant",
        text=read_text("riverside-plant"),
        description="Three halls with eleven units.",
        context=("site", "42"),
        tools=("kb.search", "ticket.comment"),
    ),
    PersonaSpec(
        tenant="acme-support",
        name="Harbour depot",
        text=read_text("harbour-depot"),
        description="Locked until the contract with the depot is renewed.",
        context=("site", "57"),
    ),
    PersonaSpec(
        tenant="acme-support",
        name="Phone callbacks",
        text=read_text("phone-callbacks"),
        description="Notes for the colleague who rings back.",
        context=("channel", "phone"),
        tools=("kb.search", "order.lookup"),
    ),
    PersonaSpec(
        tenant="acme-support",
        name="Night shift",
        text=read_text("night-shift"),
        description="The chat at night; a draft.",
        context=("channel", "chat"),
        priority=5,
        enable=False,
        by="editor",
    ),
    PersonaSpec(
        tenant="acme-sales",
        name="Before the sale",
        text=read_text("before-the-sale"),
        description="People who have no unit of ours yet.",
        tools=("kb.search",),
    ),
    PersonaSpec(
        tenant="acme-sales",
        name="Trade counter",
        text=read_text("trade-counter"),
        description="The screen between the shelves.",
        context=("channel", "counter"),
        tools=("kb.search", "order.lookup"),
    ),
    PersonaSpec(
        tenant="acme-sales",
        agent_class="Writer",
        name="Quotations",
        text=read_text("quotations"),
        description="Offers to read together with the adviser.",
        context=("document", "quotation"),
    ),
    PersonaSpec(
        tenant="globex",
        name="Street help",
        text=read_text("street-help"),
        description="People with a rented bicycle.",
        tools=("kb.search", "order.lookup"),
        by="outsider",
    ),
    PersonaSpec(
        tenant="globex",
        agent_class="Writer",
        name="default",
        text=read_text("globex-writer"),
        description="Texts at stations and in the app.",
        by="outsider",
    ),
]
