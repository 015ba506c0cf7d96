"""Speculation, queueing, prefix reuse, cost and cold start, against the worked numbers."""

import pytest

from diagnostics.capacity.checks import CapacityError, UnknownFigureError
from diagnostics.capacity.coldstart import ColdStart, backlog, load_time_floor
from diagnostics.capacity.cost import TokenRates, cost_by_kind, cost_views, usd_per_million
from diagnostics.capacity.prefix import (
    hit_share_blind,
    hit_share_one_replica,
    reusable_tokens,
    working_set_fits,
    working_set_tokens,
)
from diagnostics.capacity.queueing import (
    arrival_rate,
    mean_in_system,
    preemption_waste,
    prefill_rate_ceiling,
    prefill_tokens_left,
    static_idle_share,
    throughput_ceiling,
)
from diagnostics.capacity.speculation import (
    average_acceptance,
    best_length,
    best_length_independent,
    break_even_acceptance,
    independent_curve,
    pays,
    speed_up,
    tokens_per_round,
    tokens_per_round_independent,
)

LENGTHS = (1, 2, 3, 4, 5, 7)


@pytest.mark.parametrize(
    ("acceptance", "expected", "best", "gain"),
    [
        (0.9, (1.90, 2.71, 3.44, 4.10, 4.69, 5.70), 10, 3.43),
        (0.8, (1.80, 2.44, 2.95, 3.36, 3.69, 4.16), 6, 2.47),
        (0.6, (1.60, 1.96, 2.18, 2.31, 2.38, 2.46), 3, 1.67),
        (0.3, (1.30, 1.39, 1.42, 1.43, 1.43, 1.43), 1, 1.18),
        (0.1, (1.10, 1.11, 1.11, 1.11, 1.11, 1.11), 0, 1.00),
    ],
)
def test_tokens_a_round_and_the_best_length_at_a_draft_cost_of_a_tenth(acceptance, expected, best, gain):
    for length, tokens in zip(LENGTHS, expected, strict=True):
        assert tokens_per_round_independent(acceptance, length) == pytest.approx(tokens, abs=0.0051)
        assert tokens_per_round(independent_curve(acceptance, length)) == pytest.approx(tokens, abs=0.0051)
    found = best_length_independent(acceptance, 0.1)
    assert found.length == best
    assert found.speed_up == pytest.approx(gain, abs=0.005)


def test_one_token_at_the_break_even_acceptance_is_neither_faster_nor_slower():
    assert speed_up([0.1], 0.1) == pytest.approx(1)
    assert not pays([0.1], 0.1)
    assert pays([0.11], 0.1)
    assert break_even_acceptance(1, 0.1) == pytest.approx(0.1)


@pytest.mark.parametrize(("length", "average"), [(1, 0.80), (2, 0.72), (3, 0.65), (4, 0.59)])
def test_the_average_acceptance_falls_with_the_length_alone(length, average):
    assert average_acceptance(independent_curve(0.8, length)) == pytest.approx(average, abs=0.005)


def test_full_acceptance_gives_every_token():
    assert tokens_per_round_independent(1.0, 4) == 5
    assert tokens_per_round([1.0] * 4) == 5


def test_a_measured_curve_names_the_positions_that_pay():
    found = best_length([0.7, 0.5, 0.1, 0.02], 0.1)
    assert (found.length, found.tokens_per_round) == (2, pytest.approx(2.2))
    assert found.speed_up == pytest.approx(2.2 / 1.2)


def test_verification_at_a_large_batch_takes_the_gain_away():
    assert speed_up([0.8, 0.64], 0.05) > 1
    assert speed_up([0.8, 0.64], 0.05, verification_cost=3) < 1
    assert break_even_acceptance(2, 0.05, verification_cost=3) == pytest.approx(1.05)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tokens_per_round([1.2]),
        lambda: tokens_per_round([0.3, 0.5]),
        lambda: average_acceptance([]),
        lambda: tokens_per_round_independent(-0.1, 3),
        lambda: speed_up([0.5], -0.1),
        lambda: speed_up([0.5], 0.1, verification_cost=0.5),
        lambda: speed_up([0.5], 0.1, verification_cost=3),
        lambda: break_even_acceptance(0, 0.1),
        lambda: mean_in_system(-1, 1),
        lambda: arrival_rate(10, 0),
        lambda: throughput_ceiling(64, 0),
        lambda: throughput_ceiling(0, 0.02),
        lambda: static_idle_share([]),
        lambda: static_idle_share([0, 0]),
        lambda: prefill_tokens_left(0, 0),
        lambda: prefill_rate_ceiling(2048, 64, 0),
        lambda: preemption_waste(-1, 100),
        lambda: reusable_tokens(100, 0),
        lambda: hit_share_one_replica(0),
        lambda: hit_share_blind(4, 0),
        lambda: usd_per_million(4, 0),
        lambda: usd_per_million(-1, 1000),
        lambda: cost_views(4, TokenRates(output=0, computed_input=100)),
        lambda: cost_by_kind(4, TokenRates(output=100, computed_input=0), 0.5),
        lambda: cost_by_kind(4, TokenRates(output=100, computed_input=100), 1.5),
        lambda: TokenRates(output=-1, computed_input=0),
        lambda: load_time_floor(1e9, network=0),
        lambda: load_time_floor(0, network=1e9),
        lambda: backlog(-1, 60),
    ],
)
def test_impossible_figures_are_refused(call):
    with pytest.raises(CapacityError):
        call()


def test_little_holds_both_ways():
    assert mean_in_system(4, 2.5) == 10
    assert arrival_rate(10, 2.5) == 4


def test_a_cap_limits_throughput():
    assert throughput_ceiling(64, 0.02) == pytest.approx(3200)


def test_static_batching_waits_for_the_longest():
    assert static_idle_share([100, 100, 100, 500]) == pytest.approx(0.6)
    assert static_idle_share([100, 100]) == 0


@pytest.mark.parametrize(("decoding", "left"), [(0, 2048), (64, 1984), (2048, 0), (4096, 0)])
def test_decoding_takes_its_tokens_from_the_step_budget_first(decoding, left):
    assert prefill_tokens_left(2048, decoding) == left


def test_the_prompt_rate_follows_from_the_budget():
    assert prefill_rate_ceiling(2048, 48, 0.04) == pytest.approx(50_000)


def test_preemption_wastes_what_the_sequences_held():
    assert preemption_waste(12, 1500) == 18_000


@pytest.mark.parametrize(
    ("run", "prompt", "reused"),
    [(15, None, 0), (16, None, 16), (1000, None, 992), (64, 64, 48), (64, 65, 64)],
)
def test_only_whole_blocks_are_reused_and_never_the_last_token(run, prompt, reused):
    assert reusable_tokens(run, 16, prompt) == reused


@pytest.mark.parametrize(
    ("requests", "replicas", "one", "blind"),
    [(4, 4, 0.75, 0), (2, 8, 0.5, 0), (100, 4, 0.99, 0.96), (1, 1, 0, 0)],
)
def test_blind_spreading_loses_nearly_all_for_few_requests(requests, replicas, one, blind):
    assert hit_share_one_replica(requests) == pytest.approx(one)
    assert hit_share_blind(requests, replicas) == pytest.approx(blind)


def test_the_working_set_must_fit_what_sequences_leave_free():
    assert working_set_tokens(20, 1500) == 30_000
    assert working_set_fits(30_000, 50_000, 20_000)
    assert not working_set_fits(30_001, 50_000, 20_000)


@pytest.mark.parametrize(("rate", "price"), [(1000, 1.11), (2500, 0.44)])
def test_price_of_a_million_tokens_at_four_dollars_an_hour(rate, price):
    assert usd_per_million(4.00, rate) == pytest.approx(price, abs=0.005)


def test_one_bill_has_three_prices():
    views = cost_views(3.6, TokenRates(output=1000, computed_input=3000, cached_input=6000))
    assert (views.output, views.computed, views.everything) == pytest.approx((1.0, 0.25, 0.1))


def test_input_cached_and_output_are_told_apart_by_time():
    kinds = cost_by_kind(3.6, TokenRates(output=1000, computed_input=1000, cached_input=3000), 0.25)
    assert (kinds.computed_input, kinds.input_with_cache, kinds.output) == pytest.approx((0.25, 0.0625, 0.75))


def test_a_kind_that_did_not_occur_has_no_price():
    kinds = cost_by_kind(3.6, TokenRates(output=1000, computed_input=0), 0.0)
    assert (kinds.computed_input, kinds.output) == (None, pytest.approx(1.0))


def test_loading_is_as_slow_as_its_slowest_path():
    assert load_time_floor(141e9, network=1.25e9, disk=5e9, pcie=25e9) == pytest.approx(112.8)
    assert load_time_floor(141e9, pcie=25e9) == pytest.approx(5.64)
    with pytest.raises(UnknownFigureError):
        load_time_floor(141e9)


def test_unknown_stages_are_named_and_not_counted_as_zero():
    start = ColdStart(node=90, image_pull=120, load_and_shard=45)
    assert start.known_seconds() == 255
    assert start.unknown == ("weight download", "compilation", "graph capture", "warm-up")
    with pytest.raises(UnknownFigureError):
        ColdStart().known_seconds()


def test_demand_queues_while_a_replica_starts():
    assert backlog(3, 240) == 720
