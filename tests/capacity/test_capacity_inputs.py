"""Inputs as people see them, the plan that they give, and its pictures and words."""

from __future__ import annotations

import json

import pytest
from capacity_models import LLAMA_8B

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.course import roofline
from diagnostics.capacity.inputs import FIELDS, MissingError, request_of
from diagnostics.capacity.plan import make_plan
from diagnostics.model.report import Known
from diagnostics.model.samples import Provenance
from diagnostics.reports import capacity_cards as cards
from diagnostics.reports.charts import memory_figure, roofline_figure
from diagnostics.reports.theme import Theme

GIVEN = {
    "config": json.dumps(LLAMA_8B), "gpu": "H100 SXM", "hourly": "2.50", "prompt": "1,000", "answer": "200",
    "longest": "2000", "cached": "25", "rate": "900", "replicas": "2", "max_model_len": "8192",
}  # fmt: skip


def test_texts_become_a_request() -> None:
    request = request_of(GIVEN)
    assert (request.mean_prompt, request.cached_prompt_share, request.gpu_count) == (1000, 0.25, 2)
    assert request.shape.layers == 32
    assert request.max_sequences is None


@pytest.mark.parametrize(
    ("change", "said"),
    [({"gpu": "H100"}, "name one"), ({"tp": "2.5"}, "no whole number"), ({"hourly": "-1"}, "hourly"),
     ({"stored": "fp3"}, "fp3")],
)  # fmt: skip
def test_a_wrong_input_is_named(change: dict[str, str], said: str) -> None:
    with pytest.raises(CapacityError, match=said):
        request_of(GIVEN | change)


def test_exactly_what_is_missing_is_named() -> None:
    with pytest.raises(MissingError) as caught:
        request_of({"layers": "32", "kv_heads": "8"})
    assert caught.value.titles == ("parameters, billions", "size of a head", "GPU")


def test_the_bar_adds_up_to_the_card_and_the_point_lies_below_its_limits() -> None:
    plan = make_plan(request_of(GIVEN))
    bars = [t for t in memory_figure(plan, Theme.LIGHT).data if t.type == "bar"]
    assert sum(b.x[0] for b in bars) * 2**30 == pytest.approx(plan.budget.usable)
    points = roofline(plan)
    assert all(p.limit <= p.reading and p.limit <= (p.computing or p.limit) for p in points)
    assert [p.limit for p in points] == sorted(p.limit for p in points)
    drawn = roofline_figure(plan, (12.0, 450.0), Theme.DARK)
    measured = next(t for t in drawn.data if t.name == "measured")
    assert (measured.x, measured.y) == ((12.0,), (450.0,))
    assert not any(t.name == "measured" for t in roofline_figure(plan, None, Theme.DARK).data)


def test_the_bill_is_told_apart() -> None:
    told = dict(cards.costs(make_plan(request_of(GIVEN))))
    # 5 dollars an hour by 900 output, 3375 computed and 1125 cached input tokens a second.
    assert told["output tokens, as measured"] == "$1.54"
    assert told["output and computed input, as measured"] == "$0.32"
    assert told["output, computed and cached input, as measured"] == "$0.26"
    assert cards.costs(make_plan(request_of({**GIVEN, "hourly": ""}))) == ()


def test_where_a_value_comes_from_is_said() -> None:
    cap = next(f for f in FIELDS if f.name == "max_sequences")
    seen = Known("max_sequences", "64", Provenance.CONFIGURED, "launch command")
    assert cards.mark(cap, "", seen) == "configured: launch command"
    assert cards.mark(cap, "32", seen) == "entered"
    assert cards.mark(cap, "", None) == "assumed: 256"
