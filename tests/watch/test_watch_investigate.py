"""Received alerts: what is asked because of them, what is kept, and what a page shows of hostile ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from alerts.refill import free_port
from watch.conftest import until
from watch.replay import SAMPLES

from diagnostics.model.investigation import Investigation
from diagnostics.options import Options
from diagnostics.pipeline import diagnose
from diagnostics.store.database import open_store
from diagnostics.store.investigations import MAX_KEPT, InvestigationStore
from diagnostics.watch.investigate import Investigations, matchers
from diagnostics.watch.page import alert_card, rows
from diagnostics.watch.received import Alert, read_notification

HOSTILE = '"><script>alert(1)</script>'
START = "2026-09-21T14:20:00.123456789Z"


def _alerts(status: str = "firing", start: str = START, fingerprint: str = "ab12") -> list[Alert]:
    alert = {
        "status": status, "labels": {"alertname": "LLMCapThrottled", "job": HOSTILE}, "annotations": {"summary": HOSTILE},
        "startsAt": start, "endsAt": "2026-09-21T14:30:00Z", "generatorURL": "http://p", "fingerprint": fingerprint,
    }  # fmt: skip
    return read_notification(json.dumps({"version": "4", "groupKey": "x", "alerts": [alert]}).encode())


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"alertname": "X", "job": "vllm", "instance": "a:1"}, 'job="vllm",instance="a:1"'),
        ({"job": "vllm", "instance": "of-the-exporter:9100", "pod": "p"}, 'job="vllm"'),
        ({"job": "kube-state-metrics", "model_name": 'm"1\\'}, r'model_name="m\"1\\"'),
        ({"instance": "b:1", "model_name": "m"}, 'model_name="m"'),
        ({"severity": "critical"}, ""),
    ],
)
def test_labels_that_the_series_of_engines_carry_narrow_the_diagnosis(
    labels: dict[str, str], expected: str
) -> None:
    series = [
        {"__name__": "vllm:num_requests_running", "job": "vllm", "instance": "a:1", "model_name": "m"},
        {"__name__": "vllm:num_requests_running", "job": "vllm", "instance": "b:1", "model_name": 'm"1\\'},
    ]
    assert matchers(labels, series) == expected


def test_an_alert_goes_through_its_states_and_survives_a_restart(tmp_path: Path) -> None:
    options = Options(store=str(tmp_path / "s.duckdb"))
    address = f"http://127.0.0.1:{free_port()}"

    def item(investigations: Investigations) -> Investigation:
        found = investigations.kept.find("ab12")
        assert found is not None
        return found

    first = Investigations(address, options)
    assert first.receive(_alerts(), 1.0)
    until("it failed", lambda: item(first).state == "failed")
    assert "the connection was refused" in item(first).error
    first.receive(_alerts("resolved"), 2.0)
    until("it was tried again", lambda: item(first).state == "failed")
    first.close()

    second = Investigations(address, options)
    kept = item(second)
    assert (kept.status, kept.received_at) == ("resolved", 1.0)
    assert kept.ends_at == pytest.approx(kept.starts_at + 600 - 0.123, abs=0.01)
    second.receive(_alerts(start="2026-09-21T15:00:00Z"), 3.0)
    assert (item(second).status, item(second).ends_at, item(second).received_at) == ("firing", None, 3.0)
    second.close()


def test_a_kept_diagnosis_is_what_was_made(tmp_path: Path) -> None:
    diagnosis = diagnose([str(SAMPLES / "replica-dies")], charts=True)
    store = InvestigationStore(open_store(None))
    item = Investigation("ab12", {}, "", "firing", 0.0, 0.0)
    store.save(item, diagnosis)
    kept = store.diagnosis("ab12")
    assert kept is not None
    assert kept.report == diagnosis.report
    assert repr(kept.series) == repr(diagnosis.series)
    store.save(item)
    assert store.diagnosis("ab12") is not None
    store.forget_diagnosis("ab12")
    assert store.diagnosis("ab12") is None


def test_the_newest_are_kept() -> None:
    store = InvestigationStore(open_store(None))
    for number in range(MAX_KEPT + 2):
        store.save(Investigation(f"{number:x}", {}, "", "firing", 0.0, float(number)))
    kept = store.everything()
    assert len(kept) == MAX_KEPT
    assert kept[0].fingerprint == f"{MAX_KEPT + 1:x}"
    assert store.find("0") is None


def test_hostile_labels_are_shown_as_text() -> None:
    item = Investigation(
        "ab12", {"alertname": HOSTILE, "job": HOSTILE}, HOSTILE, "firing", 1.0, 1.0, error=HOSTILE
    )
    for text in (alert_card(item), rows([item])):
        assert "<script>" not in text
        assert "&lt;script&gt;" in text
