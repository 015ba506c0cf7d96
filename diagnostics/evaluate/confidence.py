"""How sure a finding is: one table, resolution by provenance by coverage by margin."""

from __future__ import annotations

from diagnostics.engines.base import FROM_SOURCE, Engine
from diagnostics.execute.rule import Draft, Support
from diagnostics.model.findings import confidence_word
from diagnostics.model.samples import Provenance, Resolution

# A course over time can be sure; two moments or one cannot (the contract caps them at 0.5).
BY_RESOLUTION = {Resolution.RANGE: 0.97, Resolution.PAIR: 0.5, Resolution.SNAPSHOT: 0.5}
BY_PROVENANCE = {
    Provenance.MEASURED: 1.0,
    Provenance.CONFIGURED: 1.0,
    Provenance.INFERRED: 0.88,
    Provenance.ASSUMED: 0.75,
    Provenance.LIFETIME: 0.6,
}
# What was proved on a recording of a real engine can be sure; what was only read in source cannot.
BY_SUPPORT = {Support.RECORDING: 1.0, Support.REPORT: 0.85, Support.SOURCE: 0.6}
# What an engine's metrics mean is in its source; whether they behave so, only a recording shows.
UNSEEN_ENGINE = 0.85
MARGIN_WEIGHT = 0.25
COVERAGE_WEIGHT = 0.3

_SEEN = {
    Resolution.RANGE: "seen over time",
    Resolution.PAIR: "seen at few moments only",
    Resolution.SNAPSHOT: "seen at one moment only",
}

_OF_METRICS = (Provenance.MEASURED, Provenance.INFERRED, Provenance.LIFETIME)


def _reads_engine(draft: Draft) -> bool:
    """Whether a finding rests on what the engine said of itself, and not on a configuration or a benchmark."""
    return bool(draft.replicas) and any(e.provenance in _OF_METRICS for e in draft.evidence)


def confidence(draft: Draft, support: Support, engine: Engine | None = None) -> tuple[float, str]:
    """Confidence of a finding and the reason in words.

    Args:
        draft: what the rule found.
        support: what the rule was proved on.
        engine: whose metrics or log it read, where that is known.

    Returns:
        (0 to 1, sentence).
    """
    provenance = min(
        (e.provenance for e in draft.evidence), key=lambda p: BY_PROVENANCE[p], default=Provenance.MEASURED
    )
    margin = min(max(draft.margin, 0.0), 1.0)
    coverage = min(max(draft.coverage, 0.0), 1.0)
    value = (
        BY_RESOLUTION[draft.weakest]
        * BY_PROVENANCE[provenance]
        * BY_SUPPORT[support]
        * (1 - MARGIN_WEIGHT + MARGIN_WEIGHT * margin)
        * (1 - COVERAGE_WEIGHT + COVERAGE_WEIGHT * coverage)
    )
    unseen = engine is not None and not engine.recorded and _reads_engine(draft)
    if unseen:
        value *= UNSEEN_ENGINE
    value = min(value, draft.confidence_cap)
    parts = [draft.because, _SEEN[draft.weakest]]
    if provenance is Provenance.INFERRED:
        parts.append("one number is inferred")
    elif provenance in (Provenance.LIFETIME, Provenance.ASSUMED):
        parts.append(
            "rests on totals since start"
            if provenance is Provenance.LIFETIME
            else "rests on what was assumed"
        )
    if engine is not None and unseen:
        parts.append(f"the names of {engine.title} are {FROM_SOURCE}")
    parts.append("far from its threshold" if margin >= 0.5 else "close to its threshold")
    return round(value, 2), f"{confidence_word(value)}: " + ", ".join(p for p in parts if p)
