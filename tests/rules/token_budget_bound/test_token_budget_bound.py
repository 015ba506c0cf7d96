"""The budget rule at its thresholds, and its two variants."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.report import Report
from diagnostics.rules.token_budget_bound import COMPUTE_BOUND_STEP
from diagnostics.signals.regimes import BUDGET_SHARE, KV_SPARE, PREFILL_BUSY, PREFILL_MOST, PREFILL_SHARE

SLUG = "token-budget-bound"
COMMAND = "vllm serve m --max-num-seqs 64 --max-num-batched-tokens 2000"
RAMP = "5+0.1x60"
# Means of equal numbers may miss by a rounding error.
EPS = 1e-6
Judge = Callable[..., Report]


@pytest.mark.parametrize(("share", "fires"), [(BUDGET_SHARE - 0.001, False), (BUDGET_SHARE, True)])
def test_steps_sit_at_a_known_budget_from_a_share_of_it(share: float, fires: bool, judge: Judge) -> None:
    """The mean of all steps by the budget decides where the budget is known."""
    tokens = 10 * 2000 * share
    rec = vllm(running=RAMP, waiting=15, engine_steps=10, step_tokens=tokens, prompts=tokens - 900,
               generated=900, prefill_seconds=0.01, command=COMMAND)  # fmt: skip
    assert fired(judge(rec), SLUG) is fires


def _inferred(prompt_share: float, busy: float, step: float = 5.0, kv: float = 0.2) -> Recording:
    """Steps of 1,000 tokens without a known budget; ``busy`` seconds of prefill finish each second."""
    return vllm(step=step, running=RAMP, waiting=15, kv=kv, engine_steps=10, step_tokens=10_000,
                prompts=10_000 * prompt_share, generated=10_000 * (1 - prompt_share),
                finished=5, prefill_seconds=busy * step / 5)  # fmt: skip


@pytest.mark.parametrize(
    ("share", "kv", "fires"),
    [
        (PREFILL_MOST - 0.005, KV_SPARE - EPS, False),
        (PREFILL_MOST + EPS, KV_SPARE - EPS, True),
        (PREFILL_MOST + EPS, KV_SPARE + EPS, False),
        (PREFILL_SHARE - 0.005, KV_SPARE + EPS, False),
        (PREFILL_SHARE + EPS, KV_SPARE + EPS, True),
    ],
)
def test_steps_are_prefill_from_a_share_of_prompt_tokens(
    share: float, kv: float, fires: bool, judge: Judge
) -> None:
    """With spare memory most of the work must be prompts; beside a filling cache nearly all of it."""
    found = finding(judge(_inferred(share, 1.0, kv=kv)), SLUG)
    assert (found is not None) is fires
    if found:
        measured = [e for e in found.evidence if e.comparison == ">=" and e.threshold is not None]
        assert all(e.value >= e.threshold for e in measured if e.threshold is not None)


@pytest.mark.parametrize("step", [1.0, 5.0, 15.0])
@pytest.mark.parametrize(("busy", "fires"), [(PREFILL_BUSY - 0.02, False), (PREFILL_BUSY + 0.02, True)])
def test_prefill_never_pauses_whatever_the_scrape_interval(
    busy: float, fires: bool, step: float, judge: Judge
) -> None:
    """Seconds of prefill finished each second decide, and mean the same at 1, 5 and 15 s between scrapes."""
    assert fired(judge(_inferred(0.97, busy, step)), SLUG) is fires


@pytest.mark.parametrize(("kv", "fires"), [(KV_SPARE - 1e-6, True), (KV_SPARE + 1e-6, False)])
def test_prompt_tokens_alone_need_spare_memory(kv: float, fires: bool, judge: Judge) -> None:
    """A carrier without step counts cannot tell prefill from memory once the cache fills."""
    rec = vllm(running=RAMP, waiting=15, kv=kv, prompts=9700, generated=300).without("vllm:iteration_tokens")
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("light", "variant"),
    [(0.5 / COMPUTE_BOUND_STEP * 0.9, "prefill-compute"), (0.5 / COMPUTE_BOUND_STEP * 1.1, "budget")],
)
def test_the_variant_is_a_full_step_by_a_light_one(light: float, variant: str, judge: Judge) -> None:
    """Ten full steps in five seconds take half a second each; beside a light step that tells what a larger one brings."""
    calm, full = 80, 80
    n = calm + full
    gaps = {str(light * 2): 200.0, "+Inf": 200.0}  # the median lies in the middle of the first bucket
    rec = vllm(n, running=[2.0] * calm + [5 + 0.1 * i for i in range(full)], waiting=[0.0] * calm + [15.0] * full,
               engine_steps=[25.0] * calm + [10.0] * full, step_tokens=[500.0] * calm + [18_000.0] * full,
               prompts=[300.0] * calm + [17_500.0] * full, generated=[200.0] * calm + [500.0] * full,
               itl=gaps, itl_sum=200 * light, command=COMMAND)  # fmt: skip
    found = finding(judge(rec), SLUG)
    assert found is not None
    assert found.variant == variant
    raised = [r for r in found.remedies if r.flag == "--max-num-batched-tokens"]
    assert bool(raised) is (variant == "budget")
    assert any("Do not raise the token budget" in step for step in found.do_not) is (
        variant == "prefill-compute"
    )
