"""Agent classes and their numbered manifests."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from personas import audit
from personas.actors import Actor
from personas.domain.errors import UnknownAgentClass
from personas.domain.manifest import clean_manifest, short_name
from personas.domain.settings import canonical_json
from personas.models import AgentClass, ManifestVersion
from personas.permissions import require_superuser
from personas.services.checks import saved


def find_agent_class(name: str) -> AgentClass:
    """The agent class of a canonical or short name. Raises `UnknownAgentClass` with the nearest names."""
    found: AgentClass | None = AgentClass.objects.named(name).select_related("manifest").first()
    if found is None:
        raise UnknownAgentClass(name, AgentClass.objects.names_near(name))
    return found


@transaction.atomic
def define_agent_class(
    canonical: str, *, display_name: str, manifest: Mapping[str, Any], actor: Actor, multi_instance: bool = True
) -> AgentClass:
    """Make an agent class with its first manifest. A superuser act. Raises `Invalid` for a taken or wrong name."""
    require_superuser(actor, "define an agent class")
    agent_class = AgentClass(
        canonical=canonical, short=short_name(canonical), display_name=display_name, multi_instance=multi_instance
    )
    saved(agent_class)
    audit.record("agent_class.defined", agent_class, actor=actor, tenant=None, after={"canonical": canonical})
    agent_class.manifest = publish_manifest(agent_class, manifest, actor=actor)
    return agent_class


@transaction.atomic
def publish_manifest(agent_class: AgentClass, manifest: Mapping[str, Any], *, actor: Actor) -> ManifestVersion:
    """Make the next manifest version and serve it. A superuser act; nothing happens if it equals the one served."""
    require_superuser(actor, "change a manifest")
    AgentClass.objects.select_for_update(no_key=True).only("pk").get(pk=agent_class.pk)
    agent_class = AgentClass.objects.select_related("manifest").get(pk=agent_class.pk)
    clean = clean_manifest(manifest)
    digest = hashlib.sha256(canonical_json(clean)).hexdigest()
    current = agent_class.manifest
    if current and current.sha256 == digest:
        return current
    version = ManifestVersion(
        agent_class=agent_class,
        number=current.number + 1 if current else 1,
        sha256=digest,
        author=actor.account,
        author_name=actor.name,
        **clean,
    )
    version.save()
    agent_class.manifest = version
    agent_class.save(update_fields=["manifest"])
    before = {"number": current.number} if current else {}
    audit.record(
        "manifest.published", agent_class, actor=actor, tenant=None, before=before, after={"number": version.number}
    )
    return version
