"""Settings of each entity: what was configured, where it was learnt, and which source wins."""

from __future__ import annotations

from diagnostics.model.samples import Capture, Provenance, Setting
from diagnostics.signals.identity import Entity, Identities, replica_key

# A setting the engine itself printed or exports is trusted before a command that may not be the one that runs.
_TRUST = ("asked", "start-up line", "log", "labels of", "server_args", "answer", "launch command", "manifest")

CAP_NAMES = ("max_num_seqs", "max_running_requests", "max_batch_size", "total_slots")
BUDGET_NAMES = ("max_num_batched_tokens", "chunked_prefill_size")


def _trust(setting: Setting) -> tuple[bool, int]:
    place = next((i for i, word in enumerate(_TRUST) if word in setting.where), len(_TRUST))
    return (setting.provenance is not Provenance.CONFIGURED, place)


def by_entity(
    captures: list[Capture], identities: Identities, asked: list[Setting]
) -> list[dict[str, Setting]]:
    """For each entity its settings by name; of several sources the most trustworthy.

    Args:
        captures: as read, with their settings.
        identities: who is who.
        asked: settings given by the user, which win.
    """
    chosen: list[dict[str, Setting]] = [{} for _ in identities.entities]
    for number, capture in enumerate(captures):
        for setting in capture.settings:
            for entity in _owners(number, setting, identities):
                known = chosen[entity.number].get(setting.name)
                if known is None or _trust(setting) < _trust(known):
                    chosen[entity.number][setting.name] = setting
    for setting in asked:
        for names in chosen:
            names[setting.name] = setting
    return chosen


def _owners(capture: int, setting: Setting, identities: Identities) -> list[Entity]:
    """Entities a setting speaks of: all of its capture's replica, or everyone when nothing names one."""
    key = replica_key(setting.labels)[0]
    replica = identities.replica_of_local.get((capture, key))
    if replica is None:
        known = {name for (c, _), name in identities.replica_of_local.items() if c == capture}
        replica = next(iter(known)) if len(known) == 1 else None
    rank = setting.labels.get("engine")
    owners = [e for e in identities.entities if replica is None or e.replica == replica]
    return [e for e in owners if rank is None or e.rank is None or e.rank == rank]


def conflicts(captures: list[Capture]) -> list[str]:
    """Sentences on settings that two sources of one deployment give differently."""
    seen: dict[tuple[str, str], Setting] = {}
    found = []
    for capture in captures:
        for setting in capture.settings:
            if setting.provenance is not Provenance.CONFIGURED or setting.name not in (
                *CAP_NAMES,
                *BUDGET_NAMES,
            ):
                continue
            place = (setting.name, replica_key(setting.labels)[0] or capture.suffix)
            first = seen.setdefault(place, setting)
            if first.value != setting.value:
                found.append(
                    f"{setting.name} is {first.value} in the {first.where} and {setting.value} in the {setting.where}"
                )
    return found


def limit(settings: dict[str, Setting], names: tuple[str, ...]) -> float | None:
    """The first of these settings as a positive number of one scheduler.

    SGLang's cap in a command is for the whole server and is divided over its data-parallel ranks.
    """
    for name in names:
        setting = settings.get(name)
        if setting is None:
            continue
        try:
            value = float(setting.value.replace(",", "").replace("_", ""))
        except ValueError:
            continue
        ranks = settings.get("dp_size") or settings.get("data_parallel_size")
        whole = setting.where.startswith("asked") or "command" in setting.where
        if name == "max_running_requests" and whole and ranks and ranks.value.isdigit():
            value //= max(int(ranks.value), 1)
        if value > 0:
            return value
    return None
