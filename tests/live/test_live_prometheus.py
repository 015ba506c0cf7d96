"""The live path against a real Prometheus: what a saved recording gives, its refilled twin gives too."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.carriers import dump
from support.vllm import vllm

from diagnostics import InputError, Options, diagnose
from diagnostics.cli.main import main
from diagnostics.model.report import Report
from diagnostics.sources import live

SAMPLES = Path(__file__).parents[2] / "sample_data"
FOLDERS = sorted(p.name for p in SAMPLES.iterdir() if (p / "openmetrics.txt.gz").is_file())


def _ask(server: object, folder: str, **more: object) -> Report:
    start, end = server.ranges[folder]  # type: ignore[attr-defined]
    options = {"start": start, "end": end, "step": 5.0, "select": f'job="{folder}"'} | more
    return diagnose([server.url], Options(**options)).report  # type: ignore[attr-defined, arg-type]


def _verdict(report: Report) -> tuple[str, str | None]:
    return report.verdict.status, report.verdict.primary


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_live_verdict_equals_the_file_verdict(folder: str, prometheus: object) -> None:
    """The same samples, asked of a running Prometheus, give the same status and the same primary cause."""
    saved = diagnose([str(SAMPLES / folder / "openmetrics.txt.gz")]).report
    report = _ask(prometheus, folder)
    assert _verdict(report) == _verdict(saved)
    assert sum(d.replicas for d in report.deployments) == sum(d.replicas for d in saved.deployments)
    assert report.inputs[0].kind == "prometheus"
    assert report.inputs[0].samples > 0


@pytest.mark.parametrize("folder", ["concurrency-cap", "kv-memory"])
def test_an_incident_is_found_at_the_production_interval(folder: str, prometheus: object) -> None:
    """Asked at steps of 15 s, the cause and its window stay what they are."""
    saved = diagnose([str(SAMPLES / folder / "openmetrics.txt.gz")]).report
    report = _ask(prometheus, folder, step=15.0)
    assert report.verdict.primary == saved.verdict.primary
    fine, coarse = saved.findings[0].window, report.findings[0].window
    assert fine.start is not None
    assert coarse.start is not None
    assert abs(fine.start - coarse.start) <= 60


def test_a_baseline_window_is_read_too(prometheus: object) -> None:
    """The incident is looked at, and the five calm minutes before it are asked for as the baseline."""
    start, _ = prometheus.ranges["concurrency-cap"]  # type: ignore[attr-defined]
    report = _ask(prometheus, "concurrency-cap", start=start + 300, baseline=f"{start}..{start + 295}")
    assert report.comparison is not None
    assert report.comparison.kind == "traffic"
    assert (report.comparison.binding_before, report.comparison.binding_now) == ("none", "cap")
    assert report.comparison.before.start == pytest.approx(start, abs=10)


def test_without_a_selector_every_deployment_has_a_line(prometheus: object) -> None:
    """Over the time of two recordings the deployments are listed apart by job, the worst first."""
    ranges = prometheus.ranges  # type: ignore[attr-defined]
    options = Options(
        start=min(s for s, _ in ranges.values()), end=max(e for _, e in ranges.values()), step=60.0
    )
    report = diagnose([prometheus.url], options).report  # type: ignore[attr-defined]
    assert {d.name for d in report.deployments} == {f"{folder}/tiny-llama" for folder in FOLDERS}
    order = {"findings": 0, "insufficient-data": 1, "healthy": 2}
    ranks = [order[d.status] for d in report.deployments]
    assert ranks == sorted(ranks)
    assert {d.model for d in report.deployments} == {"/models/tiny-llama"}


def test_a_selector_that_matches_nothing_names_the_nearest(
    prometheus: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error in the selector is answered with labels that exist."""
    start, end = prometheus.ranges["healthy"]  # type: ignore[attr-defined]
    status = main([
        prometheus.url, "--select", 'job="helthy"', "--from", str(start), "--to", str(end), "--format", "json"  # type: ignore[attr-defined]
    ])  # fmt: skip
    captured = capsys.readouterr()
    assert status in (2, 3)
    assert "healthy" in captured.out + captured.err


def test_a_window_without_samples_is_insufficient(
    prometheus: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """A time before the recordings holds nothing: no verdict of health, no traceback."""
    status = main([prometheus.url, "--from", "1000000000", "--to", "1000000600", "--format", "json"])  # type: ignore[attr-defined]
    captured = capsys.readouterr()
    assert status in (2, 3)
    assert "Traceback" not in captured.err
    if status == 3:
        assert json.loads(captured.out)["verdict"]["status"] == "insufficient-data"
    else:
        assert captured.err.count("\n") == 1


def test_a_bad_selector_is_one_line(prometheus: object, capsys: pytest.CaptureFixture[str]) -> None:
    """What Prometheus says of the matchers reaches the user in one line."""
    assert main([prometheus.url, "--select", 'job=="x"', "--from", "1795960000", "--to", "1795960600"]) == 2  # type: ignore[attr-defined]
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("diagnose: ")


class _Pages(http.server.BaseHTTPRequestHandler):
    """Answers by path; keeps the headers it was asked with."""

    pages: dict[str, tuple[int, str, dict[str, str]]] = {}  # noqa: RUF012  one table, filled by each test
    asked: list[dict[str, str]] = []  # noqa: RUF012

    def do_GET(self) -> None:
        """Serve a page of the table, else 404."""
        self.asked.append(dict(self.headers))
        status, body, headers = self.pages.get(self.path.split("?")[0], (404, "not here", {}))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET  # noqa: N815  the name that the base class calls

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextlib.contextmanager
def _serve(pages: dict[str, tuple[int, str, dict[str, str]]]) -> Iterator[str]:
    _Pages.pages, _Pages.asked = pages, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_live_page_is_scraped_into_a_course(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a server at its cap is read several times, with the times of the scrapes."""
    monkeypatch.setattr(live, "SCRAPE_GAP_SECONDS", 0.2)
    page = dump(vllm(running=8, waiting=20), 60)
    with _serve({"/metrics": (200, page, {})}) as url:
        report = diagnose([f"{url}/metrics"], Options(engine_args="vllm serve m --max-num-seqs 8")).report
        assert len(_Pages.asked) == live.SCRAPES
    assert sum(d.replicas for d in report.deployments) == 1
    assert report.window.start is not None
    assert report.window.end is not None
    assert report.window.end > report.window.start


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({"/metrics": (200, "<!DOCTYPE html><html>Sign in</html>", {})}, "HTML"),
        ({"/metrics": (401, "no", {})}, "401"),
        ({"/metrics": (403, "no", {})}, "403"),
        ({"/metrics": (500, "oops", {})}, "500"),
        ({}, "404"),
        ({"/metrics": (302, "", {"Location": "http://127.0.0.1:9/metrics"})}, ""),
        ({"/metrics": (302, "", {"Location": "file:///etc/passwd"})}, ""),
    ],
    ids=[
        "login page",
        "unauthorised",
        "forbidden",
        "server error",
        "nothing there",
        "redirect",
        "redirect to a file",
    ],
)
def test_what_is_no_metrics_page_is_one_line(
    pages: dict[str, tuple[int, str, dict[str, str]]], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Login pages, refusals and redirects are named, and never followed elsewhere."""
    with _serve(pages) as url:
        assert main([f"{url}/metrics"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err
    assert "root:" not in err


def test_a_closed_port_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody listens: host and port are named, with what to check."""
    with _serve({}) as url:
        pass
    assert main([url]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert url.split("//")[1] in err


def test_headers_and_tenant_reach_the_server_and_nobody_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A token from a file, a header and a tenant are sent; none of them is printed when the server refuses."""
    token = tmp_path / "token"
    token.write_text("t0ken-of-the-file\n")
    with _serve({}) as url:
        main(
            [
                f"{url}/metrics",
                "--bearer-token-file",
                str(token),
                "--header",
                "X-Team=blue-team",
                "--org-id",
                "tenant-9",
            ]
        )
        asked = _Pages.asked[0]
    assert asked["Authorization"] == "Bearer t0ken-of-the-file"
    assert asked["X-Team"] == "blue-team"
    assert asked["X-Scope-OrgID"] == "tenant-9"
    captured = capsys.readouterr()
    assert "t0ken" not in captured.out + captured.err
    assert "blue-team" not in captured.out + captured.err


def test_a_file_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Only http and https are read."""
    assert main(["file:///etc/passwd"]) == 2
    assert "http" in capsys.readouterr().err


def test_a_dead_source_beside_a_file_is_a_warning() -> None:
    """The file is still diagnosed, and the dead address is named."""
    with _serve({}) as url:
        pass
    report = diagnose([url, str(SAMPLES / "healthy")]).report
    assert report.verdict.status == "healthy"
    failed = next(i for i in report.inputs if i.source == url)
    assert failed.warnings


def test_nothing_readable_raises_the_first_reason() -> None:
    """The library raises one error with the reason of the first input."""
    with _serve({}) as url:
        pass
    with pytest.raises(InputError, match=r"127\.0\.0\.1"):
        diagnose([url])
