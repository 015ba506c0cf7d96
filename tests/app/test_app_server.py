"""The started server: its own addresses, its headers, and what a link may make it do."""

from __future__ import annotations

import socket
from zoneinfo import ZoneInfo

import pytest
import requests

from app.server import free_port
from app.settings import Settings, origin
from app.state import moment
from diagnostics.evaluate.registry import all_rules
from diagnostics.model.errors import OptionError

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/fleet",
        "/healthz",
        "/readyz",
        "/metrics",
        "/runbooks",
        "/runbooks/cap-throttled",
        "/runbooks/none-such",
        "/incidents",
        "/incidents/none-such",
    ],
)
def test_every_answer_has_the_headers(server: str, path: str) -> None:
    answer = requests.get(server + path, timeout=60)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self' 'unsafe-inline'" not in policy


def test_health_and_readiness(server: str) -> None:
    assert requests.get(f"{server}/healthz", timeout=60).text == "ok\n"
    assert requests.get(f"{server}/readyz", timeout=60).text == "ready\n"


def test_metrics_are_prometheus_text_with_bounded_labels(server: str) -> None:
    answer = requests.get(f"{server}/metrics", timeout=60)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert "diagnose_dashboard_ready 1" in lines
    assert any(line.startswith('diagnose_dashboard_diagnoses_total{outcome="findings"}') for line in lines)
    assert any(line.startswith('diagnose_dashboard_diagnosis_seconds_bucket{le="+Inf"}') for line in lines)
    named = {line.split('rule="')[1].split('"')[0] for line in lines if 'rule="' in line}
    assert named <= {rule.slug for rule in all_rules()} | {"other"}


def test_each_rule_has_a_page(server: str) -> None:
    for rule in all_rules():
        answer = requests.get(f"{server}/runbooks/{rule.slug}", timeout=60)
        assert answer.status_code == requests.codes.ok
        assert f"<h1>{rule.slug}</h1>" in answer.text
        assert "<script" not in answer.text
        assert "#runbook-" not in answer.text


def test_an_unknown_runbook_is_escaped(server: str) -> None:
    answer = requests.get(f"{server}/runbooks/%3Cscript%3Ealert(1)", timeout=60)
    assert answer.status_code == requests.codes.not_found
    assert "<script>alert" not in answer.text


def test_without_a_metrics_api_alerts_are_refused_in_one_line(server: str) -> None:
    answer = requests.post(f"{server}/api/alertmanager", data=b"{}", timeout=60)
    assert answer.status_code == requests.codes.not_found
    assert answer.text.startswith(
        "Alerts are not taken here: start the dashboard on the address of a metrics API"
    )
    assert answer.text.count("\n") == 1
    assert "Alerts are not taken here" in requests.get(f"{server}/incidents", timeout=60).text


def test_telemetry_is_off(server: str) -> None:
    page = requests.get(f"{server}/", timeout=60)
    assert "connect-src 'self';" in page.headers["Content-Security-Policy"]


def test_a_taken_port_is_said_or_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OptionError, match=f"--port {port}: in use"):
            free_port("127.0.0.1", port)
        assert free_port("127.0.0.1", None) != port
    assert free_port("127.0.0.1", 0) > 0


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host"])
def test_an_address_of_no_interface_is_said(host: str) -> None:
    with pytest.raises(OptionError, match=f"--host {host}"):
        free_port(host, None)


def test_only_what_was_named_is_read_for_others() -> None:
    shared = Settings(inputs=("http://prom:9090",), allowed=("https://thanos/base",), local=False)
    assert shared.may_read("http://prom:9090/any")
    assert shared.may_read("https://thanos:443")
    for address in (
        "http://prom:9091",
        "http://other",
        "file:///etc/passwd",
        "http://u:p@prom:9090",
        "http://[",
        "x",
    ):
        assert not shared.may_read(address)


def test_on_the_own_machine_all_but_cloud_metadata_is_read() -> None:
    local = Settings()
    assert local.may_read("http://localhost:9090")
    for address in ("http://169.254.169.254/latest", "http://[fe80::1]/", "http://metadata.google.internal"):
        assert not local.may_read(address)
    assert not Settings(allowed=("http://prom:9090",)).may_read("http://localhost:9090")


def test_origins() -> None:
    assert origin("HTTP://Prom/api?x=1") == "http://prom:80"
    assert origin("https://prom:8443/x") == "https://prom:8443"
    assert origin("http://user:secret@prom") is None
    assert origin("http://prom:99999") is None


def test_a_moment_of_an_axis_is_in_the_zone_of_the_browser() -> None:
    assert moment("2025-10-09T08:55:00Z") == 1760000100
    assert moment("2025-10-09 10:55:00.0", ZoneInfo("Europe/Berlin")) == 1760000100
    assert moment(1760000100000) == 1760000100
    for none in ("", "soon", None, float("nan"), "0001-01-01T00:00:00+23:59"):
        assert moment(none) is None
