"""The starts that a log shows, taken apart into stages that do not overlap."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.execute import deployment
from diagnostics.execute.facts import Facts
from diagnostics.model.samples import LogEvent

OUTSIDE = "outside the printed stages (process, imports, downloads, other ranks)"


class Start(Struct):
    """One start of one process: seconds by stage, and when it began and was ready."""

    stages: dict[str, float]
    labels: dict[str, str]
    begun: float | None = None
    ready: float | None = None


def starts(facts: Facts) -> list[Start]:
    """Every start of which the log tells stages, in order; seconds by stage."""
    found = _starts(deployment.events(facts, "startup", "stage", "ready"))
    return [_apart(start) for start in found if start.stages]


def _starts(events: list[LogEvent]) -> list[Start]:
    """The starts in a log, in order; a stage after readiness opens none."""
    found: list[Start] = []
    for event in events:
        last = next((s for s in reversed(found) if s.labels == event.labels), None)
        if last is None or event.kind == "startup":
            last = Start({}, event.labels, event.time if event.kind == "startup" else None)
            found.append(last)
        if event.kind == "ready":
            last.ready = event.time
        elif event.kind == "stage":
            stage = event.fields["stage"]
            last.stages[stage] = max(last.stages.get(stage, 0.0), float(event.fields["seconds"]))
    return found


def _apart(start: Start) -> Start:
    """Take out of sums what is also counted by itself; what the clock shows beyond them is one more stage."""
    stages = dict(start.stages)
    inner = sum(stages.get(s, 0.0) for s in ("compile", "compile-cache", "profile", "graph-capture"))
    if "init-engine" in stages:
        stages["init-engine"] = max(0.0, stages["init-engine"] - inner)
    if stages.get("download", 0.0) and stages.get("load-weights", 0.0) >= stages["download"]:
        stages["load-weights"] -= stages["download"]
    if start.begun is not None and start.ready is not None:
        rest = start.ready - start.begun - sum(stages.values())
        if rest > 0:
            stages[OUTSIDE] = rest
    start.stages = {name: seconds for name, seconds in stages.items() if seconds > 0}
    return start
