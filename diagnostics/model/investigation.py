"""An alert that was received, and the diagnosis of its labels and time."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Investigation(Struct):
    """One alert by its fingerprint; times are Unix seconds.

    Attributes:
        fingerprint: Alertmanager's name of the alert's labels.
        labels: of the alert.
        summary: what the alert says of itself.
        status: whether the alert still fires.
        starts_at, ends_at: when it began to fire, and ended.
        received_at: when it came first.
        state: what became of the diagnosis.
        error: why it failed.
        select: matchers that the diagnosis asked for.
        verdict: status of the verdict.
        primary: slug of the finding to act on first, empty without one.
        headline: the verdict's sentence.
    """

    fingerprint: str
    labels: dict[str, str]
    summary: str
    status: Literal["firing", "resolved"]
    starts_at: float
    received_at: float
    ends_at: float | None = None
    state: Literal["waiting", "done", "failed"] = "waiting"
    error: str = ""
    select: str = ""
    verdict: str = ""
    primary: str = ""
    headline: str = ""

    @property
    def name(self) -> str:
        """The alert's name."""
        return self.labels.get("alertname", "alert")
