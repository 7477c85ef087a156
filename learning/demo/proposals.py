"""The proposals of the demo: what is proposed, by whom, and why."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from learning.demo.personas import read_text
from learning.models import DirectiveProposal

Action = DirectiveProposal.Action
FRONT_DESK, CHAT_DESK, HELP_DESK = read_text("front-desk"), read_text("chat-desk"), read_text("help-desk")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalSpec:
    """One proposal; ``text`` None keeps the persona's, ``changes`` are to its settings."""

    persona: str
    by: str
    rationale: str
    text: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    action: DirectiveProposal.Action = Action.CHANGE
    confidence: str | None = None

    @property
    def certainty(self) -> Decimal | None:
        return None if self.confidence is None else Decimal(self.confidence)


# --- Decided

FRONT_DESK_APPROVED = FRONT_DESK.replace(
    "- Questions about prices or new units: hand over to sales. You do not name prices.\n",
    "- Questions about prices or new units: hand over to sales. You do not name prices.\n"
    "- Anger about something that went wrong: say sorry once, then what happens next and when. Do not explain "
    "why it happened.\n",
)
FRONT_DESK_TRIAL = FRONT_DESK_APPROVED.replace(
    "Friendly and short. Three sentences are enough for most answers. Use the name of the person once",
    "Cheerful. One sentence is enough for most answers. Use the name of the person in every message",
)
APPROVED = ProposalSpec(
    persona="Front desk",
    by="editor",
    text=FRONT_DESK_APPROVED,
    rationale="In the complaints of September people got three explanations and no date. Nine of ten asked again.",
)
HELP_DESK_PROPOSED = HELP_DESK.replace(
    "Without an answer, remind them once after three days.",
    "Without an answer, remind them after one day and again after three, then close the ticket.",
)
HELP_DESK_EDITED = HELP_DESK.replace(
    "Without an answer, remind them once after three days.",
    "Without an answer, remind them after three days and again after ten. A person decides whether to close it.",
)
EDITED = ProposalSpec(
    persona="Help desk",
    by="editor",
    text=HELP_DESK_PROPOSED,
    rationale="212 tickets are open whose customers have not written for a month.",
)
REJECTED = ProposalSpec(
    persona="Phone callbacks",
    by="svc-acme-support",
    text=read_text("phone-callbacks").replace("At most 120 words.", "At most 30 words."),
    rationale="Shorter notes were read faster in 14 of 15 calls.",
    confidence="0.580",
)
REJECTED_NOTE = "30 words leave out what the customer is afraid of, which is what the colleagues asked for."

# --- Waiting

STALE = ProposalSpec(
    persona="Help desk",
    by="svc-acme-support",
    text=HELP_DESK.replace(
        "3. Search the knowledge base with the fault code, then with the words of the customer.\n",
        "3. Search the knowledge base with the fault code, then with the words of the customer.\n"
        "4. When a photograph is attached, describe what you see in it before you conclude anything.\n",
    ),
    rationale="In six tickets the photograph showed another model than the order. Describing it first brought that up.",
    confidence="0.640",
)
CHINESE = ProposalSpec(
    persona="客服助手",
    by="editor",
    text=read_text("chinese-proposed"),
    rationale="三位用户只说了“E1”，结果得到了错误的步骤。另外，广东和香港的用户常用繁体字提问。",
)
GUIDE = ProposalSpec(
    persona="Fault codes",
    by="editor",
    text=read_text("fault-codes-proposed"),
    rationale=(
        "The service manual of this year: ten codes more, three reworded after the safety review (E06, E09, E15), and "
        "for the first time what to do without a code, which is how half of the conversations begin."
    ),
)
PASTED = ProposalSpec(
    persona="Chat desk",
    by="svc-acme",
    # As it came out of a web page: a zero-width space in a word, no-break spaces, one at the end of a line.
    text=CHAT_DESK.replace("ten seconds", "ten\u00a0seconds").replace("knowledge base", "know\u200bledge base")
    + "- Never ask for a password or a code from a message.\u00a0\n",
    rationale="Two customers offered the code from their bank's message. The line is that of the security page.",
    confidence="0.710",
)
SETTINGS = ProposalSpec(
    persona="Riverside plant",
    by="editor",
    changes={"allowed_tools": ("kb.search", "ticket.comment", "visit.book"), "priority": 10},
    rationale="The shift leads want visits on the calendar without a call. Before the general personas of the site.",
)
TINY = ProposalSpec(
    persona="Trade counter",
    by="svc-acme-sales",
    text=read_text("trade-counter").replace("fewer then", "fewer than"),
    rationale="A slip of the pen.",
    confidence="0.930",
)
PROSE = ProposalSpec(
    persona="Before the sale",
    by="editor",
    text=read_text("before-the-sale-proposed"),
    rationale=(
        "Rewritten with the advisers after they read 40 conversations. The rules are the old ones; what is new are "
        "noise, costs, and letting people correct what we understood."
    ),
)
ENABLE = ProposalSpec(
    persona="Night shift",
    by="editor",
    action=Action.ENABLE,
    rationale="The stand-by technicians have agreed to the three cases. To begin with the next month.",
)
PENDING_AFTER = [CHINESE, GUIDE, PASTED, SETTINGS, TINY, PROSE, ENABLE]
