"""The closed list of statistics that rules may ask for."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Stat(StrEnum):
    """A way to make one number of a signal over a window."""

    LAST = "last"
    MAX = "max"
    MIN = "min"
    MEAN = "mean"
    P50 = "p50"
    P90 = "p90"
    P99 = "p99"
    COUNT = "count"
    SLOPE = "slope"
    INCREASE = "increase"
    HIST_COUNT = "number of observations"
    HIST_SUM = "sum of observations"
    HIST_MEAN = "mean of observations"
    HIST_P50 = "p50 of observations"
    HIST_P90 = "p90 of observations"
    HIST_P99 = "p99 of observations"
    HIST_MEAN_LIFETIME = "mean of observations since start"
    LIFETIME = "total since start"

    @property
    def quantile(self) -> float | None:
        """The quantile of a histogram statistic, 0 to 1; None for the others."""
        return {Stat.HIST_P50: 0.5, Stat.HIST_P90: 0.9, Stat.HIST_P99: 0.99}.get(self)

    @property
    def column(self) -> str:
        """The column of the statistics table that holds it."""
        return {Stat.HIST_COUNT: "increase", Stat.HIST_SUM: "increase", Stat.LIFETIME: "last"}.get(
            self, self.value
        )


class Request(Struct, frozen=True):
    """One number a replica: a statistic of a signal over a window.

    ``during`` names the window: ``all``, ``saturated``, ``calm`` or a regime. ``over`` makes a ratio: the increase of
    ``signal`` by the increase of ``over``.
    """

    signal: str
    stat: Stat
    during: str = "all"
    over: str | None = None
