"""The dashboard's own numbers, as Prometheus text. Labels are rules and outcomes, nothing from inputs."""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path

from diagnostics.evaluate.registry import all_rules
from diagnostics.model.report import Report
from diagnostics.options import TOOL
from diagnostics.watch.exposition import family

OUTCOMES = ("healthy", "findings", "insufficient-data", "unusable", "error")
_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_STARTED = time.time()


class Telemetry:
    """Counters of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()
        self._findings: Counter[tuple[str, str]] = Counter()
        self._buckets = [0] * (len(_BUCKETS) + 1)
        self._seconds = 0.0

    def diagnosed(self, seconds: float, report: Report) -> None:
        """Count a diagnosis and what it found."""
        known = {rule.slug for rule in all_rules()}
        with self._lock:
            self._count(report.verdict.status, seconds)
            for finding in report.findings:
                self._findings[
                    finding.rule if finding.rule in known else "other", finding.severity.value
                ] += 1

    def failed(self, seconds: float, *, unusable: bool) -> None:
        """Count a diagnosis that gave no report: an unusable input, or a fault of this program."""
        with self._lock:
            self._count("unusable" if unusable else "error", seconds)

    def _count(self, outcome: str, seconds: float) -> None:
        self._outcomes[outcome] += 1
        self._seconds += seconds
        self._buckets[bisect_left(_BUCKETS, seconds)] += 1

    def exposition(self, *, ready: bool) -> str:
        """Everything in the text format of Prometheus."""
        with self._lock:
            lines = [*self._diagnoses(), *self._durations(), *self._found()]
        lines += family(
            "dashboard_ready", "gauge", "1 when the first page can be shown at once.", [("", int(ready))]
        )
        lines += family("dashboard_info", "gauge", "Version.", [(f'{{version="{TOOL.version}"}}', 1)])
        lines += family(
            "process_start_time_seconds", "gauge", "Unix time of the start.", [("", round(_STARTED, 3))], ""
        )
        if (resident := _resident_bytes()) is not None:
            lines += family("process_resident_memory_bytes", "gauge", "Memory in use.", [("", resident)], "")
        return "\n".join(lines) + "\n"

    def _diagnoses(self) -> list[str]:
        rows = [(f'{{outcome="{o}"}}', self._outcomes[o]) for o in OUTCOMES]
        return family("dashboard_diagnoses_total", "counter", "Diagnoses run, by outcome.", rows)

    def _durations(self) -> list[str]:
        name, total = "dashboard_diagnosis_seconds", 0
        rows: list[tuple[str, float]] = []
        for limit, count in zip((*map(str, _BUCKETS), "+Inf"), self._buckets, strict=True):
            total += count
            rows.append((f'_bucket{{le="{limit}"}}', total))
        rows += [("_sum", round(self._seconds, 6)), ("_count", total)]
        return family(name, "histogram", "Time to read inputs and run the rules.", rows)

    def _found(self) -> list[str]:
        rows = [(f'{{rule="{r}",severity="{s}"}}', n) for (r, s), n in sorted(self._findings.items())]
        return family("dashboard_findings_total", "counter", "Findings in these diagnoses.", rows)


def _resident_bytes() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


TELEMETRY = Telemetry()
