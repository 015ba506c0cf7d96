"""Each page on a small incident, without a browser: what it says, and that nothing fails."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from app_inputs import HOSTILE, html_of
from streamlit.testing.v1 import AppTest

from app import data
from app.data import Named
from app.state import Given

Opened = Callable[..., AppTest]
PAGES = (
    "now",
    "fleet",
    "latency",
    "cache",
    "speculation",
    "compare",
    "bench",
    "capacity",
    "runbooks",
    "data",
)


@pytest.mark.parametrize("source", ["capped", "calm", "hostile", "prose", "bench"])
@pytest.mark.parametrize("page", PAGES)
def test_no_page_fails_whatever_it_is_shown(opened: Opened, page: str, source: str) -> None:
    app = opened(page, source=source)
    assert not app.exception
    assert app.get("html")


def test_the_sentence_comes_before_any_chart(opened: Opened) -> None:
    app = opened(source="capped")
    kinds = [e.type for e in app.main if e.type in ("html", "plotly_chart")]
    bodies = [
        e.proto.body if e.type == "html" else "chart" for e in app.main if e.type in ("html", "plotly_chart")
    ]
    verdict = next(i for i, body in enumerate(bodies) if "d-verdict" in body)
    assert "concurrency cap" in bodies[verdict]
    assert verdict < kinds.index("plotly_chart")


def test_a_card_says_all_that_a_finding_says(opened: Opened) -> None:
    app = opened(source="capped")
    said = html_of(app)
    for wanted in (
        "What we saw",
        "Why it hurts",
        "Now",
        "Next rollout",
        "Do not",
        "Wrong if",
        "How sure",
        "restart",
        "Risk:",
    ):
        assert wanted in said
    assert "Needs a restart. Risk:" in said
    assert 'href="/runbooks/cap-throttled"' in said
    copied = [c.value for c in app.code]
    assert any(c.startswith("--max-num-seqs ") for c in copied)
    assert any("num_requests_running" in c for c in copied)


def test_a_healthy_page_is_calm(opened: Opened) -> None:
    app = opened(source="calm")
    said = html_of(app)
    assert "d-healthy" in said
    assert "d-critical" not in said
    assert "d-warning" not in said
    assert "KV cache, highest use" in said


def test_too_little_data_is_a_state_of_its_own(opened: Opened) -> None:
    said = html_of(opened(source="prose"))
    assert "d-insufficient-data" in said
    assert "Not enough data to judge" in said


def test_names_from_inputs_are_text(opened: Opened) -> None:
    for page in PAGES:
        said = html_of(opened(page, source="hostile"))
        assert "<img" not in said
        assert 'href="javascript' not in said
    assert "&lt;img" in html_of(opened("now", source="hostile", replica=HOSTILE))


def test_a_link_opens_the_same_view(opened: Opened) -> None:
    window = {"from": "2025-10-09T08:55:00Z", "to": "2025-10-09T08:57:00Z"}
    app = opened("fleet", source="capped", replica="vllm-1:8000", **window)
    assert {k: v for k, v in app.query_params.items() if k in window} == window
    assert app.selectbox(key="w_replica").value == "vllm-1:8000"
    assert "vllm-0:8000" not in str(app.dataframe[0].value)
    assert "08:55:00 to 08:57:00" in html_of(app)


def test_choosing_writes_the_address_and_another_source_starts_afresh(opened: Opened) -> None:
    app = opened(source="capped")
    app.selectbox(key="w_replica").set_value("vllm-0:8000").run()
    assert app.query_params["replica"] == "vllm-0:8000"
    app.selectbox(key="w_source").set_value("calm").run()
    assert dict(app.query_params) == {"source": "calm"}


def test_a_moment_divides_the_time_and_stands_in_the_address(opened: Opened) -> None:
    """Where the trouble began is the first choice; another one is written into the address."""
    app = opened("compare", source="capped")
    said = html_of(app)
    assert "What changed, and did it help" in said
    assert "concurrency cap" in said
    assert "cap-throttled" in said
    app.slider(key="w_after").set_value(datetime(2025, 10, 9, 8, 57, 30)).run()
    assert app.query_params["after"] == "2025-10-09T08:57:30Z"
    assert "before: 2025-10-09 08:53:20 to 08:57:25" in html_of(app)


def test_a_chosen_stretch_is_the_baseline(opened: Opened) -> None:
    window = {"from": "2025-10-09T08:53:20Z", "to": "2025-10-09T08:55:00Z"}
    said = html_of(opened("compare", source="capped", **window))
    assert "The stretch of time chosen above is the baseline" in said
    assert "before: 2025-10-09 08:53:20 to 08:54:55" in said


def test_other_data_can_be_the_baseline(opened: Opened) -> None:
    said = html_of(opened("compare", source="capped", baseline="calm"))
    assert "baseline: 2025-10-09" in said
    assert "no limit binding" in said or "no limit, then concurrency cap" in said
    shown = html_of(opened("compare", source="capped", baseline="/etc"))
    assert "/etc" not in shown
    assert "before: 2025-10-09" in shown


def test_uploads_are_compared_by_time_with_other_data_and_as_the_baseline(
    opened: Opened, inputs: Path
) -> None:
    file = next((inputs / "capped").iterdir())
    files = (Named(file.name, file.read_bytes()),)

    def said(**chosen: str) -> str:
        app = opened(source="calm")
        app.session_state["given"] = Given(files, "", data.run_given(files, ""))
        app.query_params.update(chosen)
        app.switch_page("views/compare.py").run()
        assert not app.exception
        return html_of(app)

    by_time = said(source="own")
    assert "before: 2025-10-09 08:53:20" in by_time
    assert "cap-throttled" in by_time
    assert "baseline: 2025-10-09" in said(source="own", baseline="calm")
    as_baseline = said(source="calm", baseline="own")
    assert "baseline: 2025-10-09" in as_baseline
    assert "cap-throttled" in as_baseline
    assert "cap-throttled" not in said(source="calm")


def test_an_unknown_source_is_named_and_not_read(opened: Opened) -> None:
    said = html_of(opened(source="http://127.0.0.1:1/secret"))
    assert "This server does not show http://127.0.0.1:1/secret" in said


def test_a_pasted_text_is_diagnosed(opened: Opened) -> None:
    app = opened("data", source="calm")
    line = "INFO 04-28 22:54:{:02d} [loggers.py:257] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    line += "Avg generation throughput: 5.4 tokens/s, Running: 1 reqs, Waiting: 14 reqs, "
    line += "GPU KV cache usage: 96.7%"
    app.text_area(key="pasted").set_value("\n".join(line.format(s) for s in range(0, 50, 10)))
    next(b for b in app.button if b.label == "Diagnose this text").click().run()
    assert not app.exception
    assert "d-verdict" in html_of(app)
    assert app.query_params["source"] == "own"


def test_an_address_that_is_none_is_refused_in_words(opened: Opened) -> None:
    app = opened("data", source="calm")
    app.text_input(key="address").set_value("ftp://somewhere")
    next(b for b in app.button if b.label == "Connect").click().run()
    assert "Write the address like" in app.warning[0].value


def test_runbooks_can_be_searched(opened: Opened) -> None:
    app = opened("runbooks")
    app.text_input[0].set_value("preemption").run()
    said = html_of(app)
    assert "/runbooks/preemption-storm" in said
    assert "/runbooks/cap-throttled" not in said


def test_a_stretch_is_judged_by_itself(opened: Opened) -> None:
    calm = {"from": "2025-10-09T08:53:20Z", "to": "2025-10-09T08:55:00Z"}
    said = html_of(opened(source="capped", **calm))
    assert "d-findings" not in said
    assert "concurrency cap" not in said
    sick = {"from": "2025-10-09T08:55:20Z", "to": "2025-10-09T08:57:00Z"}
    app = opened(source="capped", **sick)
    assert "concurrency cap" in html_of(app)
    assert any("this stretch alone" in c.value for c in app.caption)


PLAN = {
    "c-parameters": "8", "c-layers": "32", "c-kv_heads": "8", "c-head_size": "128", "c-gpu": "H100 SXM",
    "c-hourly": "2.5", "c-prompt": "1000", "c-answer": "200", "c-longest": "2000", "c-rate": "900",
}  # fmt: skip


def test_capacity_asks_for_exactly_what_is_missing(opened: Opened) -> None:
    said = html_of(opened("capacity", source="capped", **{"c-gpu": "H100 SXM"}))
    assert "Enter what is missing: parameters, billions, layers, KV heads, size of a head." in said
    said = html_of(opened("capacity", source="capped", **{**PLAN, "c-gpu": ""}))
    assert "Enter what is missing: GPU." in said
    said = html_of(opened("capacity", source="capped", **{**PLAN, "c-layers": "many"}))
    assert "layers: &#x27;many&#x27; is no number" in said or "layers: &#39;many&#39; is no number" in said


def test_capacity_plans_from_what_was_observed_and_entered(opened: Opened) -> None:
    app = opened("capacity", source="capped", **PLAN)
    assert not app.exception
    said = html_of(app)
    for wanted in ("Memory of one GPU", "Tensor parallelism", "GPUs that fit", "output tokens, as measured",
                   "entered", "assumed: 256", "observed: requests running, mean of a replica"):  # fmt: skip
        assert wanted in said
    assert len(app.get("plotly_chart")) == 2
    app.text_input(key="w_c_hourly").set_value("5").run()
    assert app.query_params["c-hourly"] == "5"
    app.selectbox(key="w_source").set_value("calm").run()
    assert dict(app.query_params) == {"source": "calm"}


def test_the_bench_page_tells_knee_honesty_change_and_single_requests(opened: Opened) -> None:
    app = opened("bench", source="bench")
    said = html_of(app)
    for wanted in ("Output and latency over load", "How real the load was", "What changed (speculation)",
                   "Requests over time", "not realistic"):  # fmt: skip
        assert wanted in said
    assert "<img src=x" not in said
    assert any(c.value.startswith("vllm bench serve") for c in app.code)


def test_without_a_result_the_bench_page_says_how_to_get_one(opened: Opened) -> None:
    app = opened("bench", source="calm")
    assert "No benchmark result in this data" in html_of(app)
    (command,) = (c.value for c in app.code)
    assert "as in production" in command
