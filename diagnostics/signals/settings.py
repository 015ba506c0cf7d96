"""Settings of each entity: what was configured, where it was learnt, and which source wins."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from diagnostics.model.samples import Capture, InputKind, Provenance, Setting
from diagnostics.signals.identity import MODEL_SETTINGS, Entity, Identities, replica_key

# A setting the engine itself printed or exports is trusted before a command that may not be the one that runs.
_TRUST = ("asked", "start-up line", "log", "labels of", "server_args", "answer", "launch command", "manifest")

CAP_NAMES = ("max_num_seqs", "max_running_requests", "max_batch_size", "total_slots")
_DIGITS = re.compile(r"[0-9]{1,9}")
BUDGET_NAMES = ("max_num_batched_tokens", "chunked_prefill_size")


def _trust(setting: Setting) -> tuple[bool, int]:
    place = next((i for i, word in enumerate(_TRUST) if word in setting.where), len(_TRUST))
    return (setting.provenance is not Provenance.CONFIGURED, place)


class Described(Struct, frozen=True):
    """The engines that one configuration describes.

    Attributes:
        models: for each engine by name the models that it serves.
        values: for each setting the values that it has in any of them.
    """

    models: dict[str, set[str]]
    values: dict[str, set[str]]

    @classmethod
    def of(cls, settings: list[Setting]) -> Described:
        """Collect the engines of a capture's settings; none where only one is described."""
        engines: dict[str, list[Setting]] = {}
        values: dict[str, set[str]] = {}
        for setting in settings:
            name = setting.labels.get("workload")
            if name is not None:
                engines.setdefault(name, []).append(setting)
                values.setdefault(setting.name, set()).add(setting.value)
        return cls({name: _models(members) for name, members in engines.items()}, values)

    def holds_for(self, setting: Setting, entity: Entity) -> bool:
        """Whether a setting is one of this entity: of its engine, or the same in all of them."""
        name = setting.labels.get("workload")
        if name is None:
            return True
        engine = self._engine_of(entity)
        return name == engine if engine else len(self.values[setting.name]) == 1

    def _engine_of(self, entity: Entity) -> str | None:
        """The engine that started this replica, by the pod's name, else by the model; None where that is open."""
        pod = entity.replica.rpartition("/")[2]
        named = [name for name in self.models if f"{pod}-".startswith(f"{name.partition('/')[0]}-")]
        longest = max((len(name.partition("/")[0]) for name in named), default=0)
        named = [name for name in named if len(name.partition("/")[0]) == longest]
        fitting = (
            named
            if len(named) == 1
            else [name for name in named or self.models if entity.model in self.models[name]]
        )
        return fitting[0] if len(fitting) == 1 else None


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
        described = Described.of(capture.settings)
        everyone = _spoken_of(capture, identities)
        for setting in capture.settings:
            for entity in _owners(number, setting, identities) or everyone:
                if not described.holds_for(setting, entity):
                    continue
                known = chosen[entity.number].get(setting.name)
                if known is None or _trust(setting) < _trust(known):
                    chosen[entity.number][setting.name] = setting
    for setting in asked:
        for names in chosen:
            names[setting.name] = setting
    return chosen


def _spoken_of(capture: Capture, identities: Identities) -> list[Entity]:
    """Whom a configuration speaks of that names no replica: all that serve its model, or all; a log is of one."""
    if capture.series or capture.kind is InputKind.LOG:
        return []
    served = _models(s for s in capture.settings if "workload" not in s.labels)
    return [e for e in identities.entities if e.model in served] or identities.entities


def _models(settings: Iterable[Setting]) -> set[str]:
    """Names under which a model may be served, in full and without its owner."""
    names = {s.value for s in settings if s.name in MODEL_SETTINGS}
    return names | {name.rstrip("/").rpartition("/")[2] for name in names}


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
            owner = setting.labels.get("workload") or replica_key(setting.labels)[0] or capture.suffix
            place = (setting.name, owner)
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
        if name == "max_running_requests" and whole and ranks and _DIGITS.fullmatch(ranks.value):
            value //= max(int(ranks.value), 1)
        if 0 < value < float("inf"):
            return value
    return None
