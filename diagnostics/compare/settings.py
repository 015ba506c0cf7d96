"""Version, settings and number of replicas that differ between two sides."""

from __future__ import annotations

import re

from diagnostics.compare.measures import NOISE
from diagnostics.execute.facts import Facts
from diagnostics.model.comparison import SettingChange

# Sizes that the engine measures at every start differ a little each time; they count from the limit of noise on.
_MEASURED = frozenset(
    {"kv_capacity_tokens", "num_gpu_blocks", "num_cpu_blocks", "max_concurrency", "kv_bytes"}
)
# Where a server listens is no change of how it serves; what is secret is never repeated.
_PASSED_OVER = re.compile(r"port|host|root_path|uds|.*(key|keyfile|_token|password|secret)")


def changed_settings(before: Facts, after: Facts) -> tuple[SettingChange, ...]:
    """What was deployed differently: the number of replicas, then version and settings."""
    return (*_replicas(before, after), *_set(before, after))


def told_settings(before: Facts, after: Facts) -> bool:
    """Whether both sides tell how they were started, and not only what metrics carry in their labels."""
    return all(
        any(not where.startswith("labels of ") for where, _ in _known(facts).values() if where)
        for facts in (before, after)
    )


def _set(before: Facts, after: Facts) -> tuple[SettingChange, ...]:
    """Version and settings that differ.

    A setting that one side does not name counts when both sides were told their settings at the same place.
    """
    one, other = _known(before), _known(after)
    places = {p for p, _ in one.values()}, {p for p, _ in other.values()}
    found = []
    names = [n for n in one.keys() | other.keys() if not _PASSED_OVER.fullmatch(n)]
    for name in sorted(names, key=lambda n: (n in _MEASURED, n)):
        a, b = one.get(name), other.get(name)
        if a and b and a[1] != b[1] and not _same_size(name, a[1], b[1]):
            found.append(SettingChange(name, a[1], b[1]))
        elif a and not b and a[0] in places[1]:
            found.append(SettingChange(name, a[1], None))
        elif b and not a and b[0] in places[0]:
            found.append(SettingChange(name, None, b[1]))
    return tuple(found)


def _same_size(name: str, before: str, after: str) -> bool:
    """Whether two values of a measured size are equal within noise."""
    if name not in _MEASURED:
        return False
    try:
        a, b = float(before.replace(",", "")), float(after.replace(",", ""))
    except ValueError:
        return False
    return abs(a - b) <= NOISE * max(a, b)


def _known(facts: Facts) -> dict[str, tuple[str, str]]:
    """Where each setting was learnt and its value; all values where replicas differ."""
    found: dict[str, tuple[str, set[str]]] = {}
    for settings in facts.settings:
        for name, setting in settings.items():
            found.setdefault(name, (setting.where, set()))[1].add(setting.value)
    if facts.version and "engine_version" not in found:
        found["engine_version"] = ("", {facts.version})
    return {name: (where, ", ".join(sorted(held))) for name, (where, held) in found.items()}


def _replicas(before: Facts, after: Facts) -> tuple[SettingChange, ...]:
    if before.size == after.size:
        return ()
    return (SettingChange("replicas", str(before.size), str(after.size)),)
