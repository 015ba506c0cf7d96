"""What a user may say about alerts, and the times that follow from it."""

from __future__ import annotations

from msgspec import Struct, field

# s; a limit must hold over this window, and the alert over `HOLD` on top, before anybody is woken. Five minutes
# hold at least five scrapes at an interval of a minute.
WINDOW = 300.0
HOLD = 120.0
# Windows of what needs more requests (fleets, drafts, hang-ups) or a longer memory (the top of running).
LONG, TOP = 3, 12
# s; how often the rules are evaluated.
INTERVAL = 30.0
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))


class AlertOptions(Struct, frozen=True):
    """Which alerts to write, and for whom.

    Attributes:
        only, ignore: slugs to restrict to, or to leave out.
        engines: engines whose metric names are used.
        select: PromQL matchers that every selector gets, without braces.
        runbook_base, dashboard_base: where links point; without a base, the link is left out.
        incidents: whether the dashboard receives these alerts from an Alertmanager, and so has a page of each.
        scale: multiplies every window, every ``for`` and the evaluation interval.
        stretch: how many times slower than true the timestamps run: 10 for a recording whose times were stretched
            tenfold. Seconds of work that an engine counts in a second of such time are that much fewer, so limits
            on them are divided by it. Counts, shares and latencies stay, and so do windows and ``for``.
        cap, token_budget: limits of the deployment, where they are known and the same everywhere.
        slo: targets like ``ttft_p99`` in seconds; a limit that breaks one is critical.
        keep: seconds that an alert goes on firing after its expression ended, so that it does not flap; 0 for
            a Prometheus before 2.42, which does not know ``keep_firing_for``.
        name: name of the groups and of the manifest.
        labels: further labels of the manifest, by which an operator finds it.
    """

    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    engines: tuple[str, ...] = ("vllm", "sglang")
    select: str = ""
    runbook_base: str | None = None
    dashboard_base: str | None = None
    incidents: bool = False
    scale: float = 1.0
    stretch: float = 1.0
    cap: float | None = None
    token_budget: float | None = None
    slo: dict[str, float] = field(default_factory=dict)
    keep: float = 300.0
    name: str = "llm-serving"
    labels: dict[str, str] = field(default_factory=dict)

    def seconds(self, base: float) -> float:
        """A window or hold under the scale, in whole seconds."""
        return max(1.0, float(round(base * self.scale)))

    def time(self, base: float) -> str:
        """A window or hold under the scale, as PromQL writes it."""
        return duration(self.seconds(base))


def duration(seconds: float) -> str:
    """Whole seconds as PromQL writes a duration, in its largest whole unit.

    Args:
        seconds: how long; rounded to a second.
    """
    whole = round(seconds)
    return next(
        (f"{whole // size}{unit}" for size, unit in _UNITS if whole and whole % size == 0), f"{whole}s"
    )


def number(value: float) -> str:
    """A threshold as PromQL text, without needless digits."""
    return f"{value:.6g}"
