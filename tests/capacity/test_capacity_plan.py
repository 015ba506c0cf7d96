"""The plan as a whole: figures, assumptions, ranking, text."""

import pytest
from capacity_models import DEEPSEEK_V3, GPT_OSS_20B, LLAMA_8B, LLAMA_70B, MIXTRAL_8X7B, QWEN25_7B
from msgspec.structs import replace

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.choice import Need, judge_gpu, rank_gpus
from diagnostics.capacity.hardware import GIB, find_gpu, load_gpus
from diagnostics.capacity.model import ModelShape, shape_from_config
from diagnostics.capacity.plan import PlanRequest, make_plan, render_text
from diagnostics.capacity.precision import precision
from diagnostics.capacity.sizing import EngineSettings

SHAPE_8B, SHAPE_70B = shape_from_config(LLAMA_8B), shape_from_config(LLAMA_70B)
SETTINGS = EngineSettings(
    stored=precision("bf16"),
    kv_dtype="bf16",
    utilisation=0.9,
    block_size=16,
    batched_tokens=8192,
    max_sequences=256,
)


def request(**change):
    facts = {
        "shape": SHAPE_8B,
        "gpu": find_gpu("L4"),
        "max_model_len": 8192,
        "mean_prompt": 900,
        "mean_output": 300,
        "high_total": 2500,
    }
    return PlanRequest(**{**facts, **change})


def need(**change):
    facts = {"shape": SHAPE_8B, "settings": SETTINGS, "sequences": 4, "held_tokens": 1000, "longest": 8192}
    return Need(**{**facts, **change})


def test_an_8b_on_an_l4_has_thin_cache_room():
    plan = make_plan(request())
    assert plan.budget.weights / GIB == pytest.approx(14.96, abs=0.01)
    assert plan.kv_tokens * 131_072 <= plan.budget.kv
    assert 2 * 8192 < plan.kv_tokens < 4 * 8192
    assert plan.concurrency.printed == pytest.approx(plan.kv_tokens / 8192)
    assert plan.concurrency.mean == pytest.approx(plan.kv_tokens / (1050 + 8))
    assert plan.concurrency.safe == plan.kv_tokens // 16 // 157
    assert plan.problems == ()


def test_the_ceiling_is_batch_over_step_when_prompts_do_not_decide():
    plan = make_plan(request(mean_prompt=100, mean_output=1000, max_sequences=8))
    assert plan.speed.batch == 8
    read = 2 * SHAPE_8B.parameters + 8 * 600 * 131_072
    assert plan.speed.step_seconds == pytest.approx(read / 300e9)
    assert plan.speed.ceiling == pytest.approx(8 / plan.speed.step_seconds)
    assert plan.speed.limited_by == "bandwidth"
    assert plan.speed.usual == pytest.approx((0.6 * plan.speed.ceiling, 0.85 * plan.speed.ceiling))


def test_long_prompts_and_short_answers_are_limited_by_computing_prompts():
    plan = make_plan(request(mean_prompt=4000, mean_output=10))
    assert plan.speed.limited_by == "compute of prompts"
    assert plan.speed.ceiling == pytest.approx(121e12 * 10 / (2 * SHAPE_8B.active * 4010))
    cached = make_plan(request(mean_prompt=4000, mean_output=10, cached_prompt_share=0.9))
    assert cached.speed.ceiling > 2 * plan.speed.ceiling


def test_replicas_multiply_the_ceiling():
    one, two = make_plan(request()), make_plan(request(gpu_count=2, tp=1))
    assert two.replicas == 2
    assert two.speed.ceiling == pytest.approx(2 * one.speed.ceiling)


def test_the_smallest_degree_that_fits_is_taken_when_none_is_given():
    plan = make_plan(request(shape=SHAPE_70B, gpu=find_gpu("H100 SXM"), gpu_count=8))
    assert (plan.tp, plan.replicas) == (2, 4)
    assert any("TP 2" in words for words in plan.assumptions)
    assert make_plan(request(shape=SHAPE_70B, gpu=find_gpu("H100 SXM"), gpu_count=8, tp=8)).replicas == 1


def test_needed_sequences_raise_the_degree():
    plan = make_plan(request(shape=SHAPE_70B, gpu=find_gpu("H100 SXM"), gpu_count=4, needed_sequences=64))
    assert plan.tp == 4


def test_gpus_left_over_are_a_problem():
    plan = make_plan(request(gpu_count=3, tp=2))
    assert (plan.replicas, plan.idle_gpus) == (1, 1)
    assert any("left over" in words for words in plan.problems)


def test_a_degree_the_model_forbids_is_an_error():
    with pytest.raises(CapacityError, match="TP 8 is not possible: 28 attention heads"):
        make_plan(request(shape=shape_from_config(QWEN25_7B), gpu_count=8, tp=8))
    with pytest.raises(CapacityError, match="needs 4 GPUs"):
        make_plan(request(gpu_count=2, tp=4))


def test_a_model_that_does_not_fit_has_no_speed_and_says_by_how_much():
    plan = make_plan(request(shape=SHAPE_70B))
    assert plan.speed is None
    assert plan.kv_tokens == 0
    assert "exceed the memory by 11" in plan.problems[0]
    assert "the model does not fit" in render_text(plan)


def test_a_pool_shorter_than_one_sequence_keeps_the_engine_from_starting():
    plan = make_plan(request(max_model_len=131_072))
    assert plan.concurrency.printed < 1
    assert any("refuse to start" in words for words in plan.problems)


def test_the_pool_the_engine_printed_comes_before_the_estimate():
    plan = make_plan(request(measured_kv_tokens=8192))
    assert (plan.kv_tokens, plan.kv_tokens_measured, plan.concurrency.printed) == (8192, True, 1)


def test_a_measured_rate_gives_efficiency_and_cost():
    plan = make_plan(
        request(measured_tokens_per_second=200, gpu_hourly=0.8, cached_prompt_share=0.5, gpu_count=1)
    )
    assert plan.speed.efficiency == pytest.approx(200 / plan.speed.ceiling)
    assert plan.cost.measured_output == pytest.approx(0.8 / (200 * 3600) * 1e6)
    assert plan.cost.measured.output == plan.cost.measured_output
    # 200 output, 300 computed and 300 cached input tokens a second
    assert plan.cost.measured.computed == pytest.approx(plan.cost.measured_output * 200 / 500)
    assert plan.cost.measured.everything == pytest.approx(plan.cost.measured_output * 200 / 800)
    assert plan.cost.at_ceiling < plan.cost.measured_output


def test_a_rate_above_the_ceiling_is_a_contradiction():
    plan = make_plan(request(measured_tokens_per_second=50_000))
    assert plan.speed.efficiency > 1
    assert any("times the ceiling" in words for words in plan.problems)


def test_without_a_price_there_is_no_cost():
    plan = make_plan(request())
    assert plan.cost is None
    assert any("no price" in words for words in plan.assumptions)


def test_without_lengths_there_is_a_floor_but_no_ceiling():
    plan = make_plan(request(mean_prompt=None, mean_output=None, high_total=None))
    assert (plan.concurrency.mean, plan.concurrency.safe, plan.speed.ceiling) == (None, None, None)
    assert plan.speed.floor.seconds == pytest.approx(2 * SHAPE_8B.parameters / 300e9)


def test_a_few_numbers_are_enough_and_every_gap_is_listed():
    shape = ModelShape(parameters=8e9, layers=32, kv_heads=8, head_size=128)
    plan = make_plan(PlanRequest(shape=shape, gpu=find_gpu("A10G")))
    assert plan.kv_bytes_per_token == 131_072
    assert plan.concurrency.printed is None
    assert plan.ranked == ()
    for words in (
        "weights are taken as bf16",
        "KV cache is kept in 16 bits",
        "90 %",
        "blocks of 16",
        "8,192 tokens in a step",
        "256 sequences",
        "1.5 GiB",
        "mean lengths are not known",
        "cannot be ranked",
        "no price",
    ):
        assert any(words in line for line in plan.assumptions), words


def test_facts_that_are_given_are_not_listed_as_assumed():
    plan = make_plan(
        request(utilisation=0.85, block_size=32, batched_tokens=2048, max_sequences=64, needed_sequences=2)
    )
    text = " ".join(plan.assumptions)
    for words in ("may use", "KV blocks of", "tokens in a step", "sequences run together", "ranked for one"):
        assert words not in text
    assert plan.kv_tokens % 32 == 0


def test_visible_memory_is_used_and_said():
    plan = make_plan(request())
    assert plan.budget.memory == 22.5 * GIB
    assert any("22.5 GiB are visible" in words for words in plan.assumptions)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gpu": find_gpu("A100 80GB SXM"), "stored": precision("fp8")}, "no fp8 units"),
        ({"gpu": find_gpu("GB10")}, "the floor is that of reading"),
        ({"gpu": find_gpu("V100")}, "no bf16"),
        ({"shape": shape_from_config(MIXTRAL_8X7B), "gpu": find_gpu("B200")}, "experts are chosen evenly"),
        ({"shape": shape_from_config(GPT_OSS_20B), "gpu": find_gpu("A100 80GB SXM")}, "sliding window"),
        ({"gpu_count": 2, "tp": 2}, "latency is left out"),
    ],
)
def test_what_the_hardware_or_model_forces_is_said(change, words):
    assert any(words in line for line in make_plan(request(**change)).assumptions)


def test_a_target_that_the_full_batch_misses_is_a_problem():
    assert any("target" in words for words in make_plan(request(target_step=0.02)).problems)
    assert not make_plan(request(gpu=find_gpu("H100 SXM"), target_step=0.1)).problems


def test_a_window_lets_more_sequences_in():
    windowed = make_plan(request(shape=shape_from_config(GPT_OSS_20B), gpu=find_gpu("L40S"), kv_dtype="bf16"))
    full = make_plan(
        request(
            shape=replace(shape_from_config(GPT_OSS_20B), window=None, window_layers=0),
            gpu=find_gpu("L40S"),
            kv_dtype="bf16",
        )
    )
    assert windowed.kv_tokens == full.kv_tokens
    assert 1.5 < windowed.concurrency.mean / full.concurrency.mean < 2


def test_a_latent_model_on_eight_cards_keeps_the_whole_cache_on_each():
    plan = make_plan(
        request(shape=shape_from_config(DEEPSEEK_V3), gpu=find_gpu("H200 SXM"), gpu_count=8, tp=8)
    )
    assert plan.kv_bytes_per_token_per_gpu == 70_272
    assert plan.budget.fits


@pytest.mark.parametrize(
    "change",
    [
        {"gpu_count": 0},
        {"mean_prompt": -1},
        {"mean_output": 0},
        {"gpu_hourly": 0},
        {"measured_tokens_per_second": 0},
        {"cached_prompt_share": 1.5},
        {"target_step": -1},
        {"max_model_len": 0},
    ],
)
def test_impossible_facts_are_refused(change):
    with pytest.raises(CapacityError):
        request(**change)


@pytest.mark.parametrize("change", [{"utilisation": 0.0}, {"kv_dtype": "q4"}, {"block_size": 0}])
def test_impossible_settings_are_refused(change):
    with pytest.raises(CapacityError):
        make_plan(request(**change))


def test_capacity_gates_the_choice():
    choice = judge_gpu(need(counts=(1,)), find_gpu("T4"))
    assert not choice.fits
    assert "exceed the memory" in choice.reasons[0]
    assert (choice.kv_tokens, choice.step, choice.hourly) == (None, None, None)


def test_more_of_a_small_card_are_tried():
    choice = judge_gpu(need(), find_gpu("T4"))
    assert (choice.fits, choice.count) == (True, 2)


def test_sequences_that_are_needed_gate_too():
    few, many = judge_gpu(need(), find_gpu("L4")), judge_gpu(need(sequences=60), find_gpu("L4"))
    assert (few.count, many.count) == (1, 2)


def test_bandwidth_ranks_without_a_target():
    ranked = rank_gpus(need(), [find_gpu(name) for name in ("L4", "H100 SXM", "A10G", "T4")])
    assert ranked[0].gpu.name == "H100 SXM"
    assert [choice.step.seconds for choice in ranked] == sorted(choice.step.seconds for choice in ranked)


def test_price_decides_between_equally_fast_cards():
    cheap = replace(find_gpu("H100 SXM"), name="cheap", price_range=(1.0, 1.0))
    slower = replace(find_gpu("H100 SXM"), name="slower", bandwidth=3.2e12, price_range=(0.5, 0.5))
    unknown = replace(find_gpu("H100 SXM"), name="unknown", price_range=None)
    names = [choice.gpu.name for choice in rank_gpus(need(), [find_gpu("H100 SXM"), unknown, cheap, slower])]
    assert names == ["slower", "cheap", "H100 SXM", "unknown"]


def test_price_decides_between_all_that_meet_a_target():
    fast, cheap = find_gpu("H200 SXM"), find_gpu("A100 80GB SXM")
    assert rank_gpus(need(), [cheap, fast])[0].gpu.name == fast.name
    ranked = rank_gpus(need(target_step=0.02), [fast, cheap])
    assert ranked[0].gpu.name == cheap.name
    assert ranked[0].meets_target


def test_more_cards_are_taken_to_meet_a_target():
    assert judge_gpu(need(target_step=0.030), find_gpu("L4")).count == 2
    missed = judge_gpu(need(target_step=0.001), find_gpu("L4"))
    assert (missed.count, missed.meets_target) == (1, False)


def test_cost_of_the_choice_is_a_range_of_the_table():
    choice = judge_gpu(need(), find_gpu("H100 SXM"))
    assert choice.hourly == (1.99, 5.00)
    low, high = choice.usd_per_million
    assert high / low == pytest.approx(5.00 / 1.99)
    assert judge_gpu(need(), find_gpu("L4")).usd_per_million is None


def test_the_own_price_replaces_the_range_in_the_ranking():
    plan = make_plan(request(gpu_hourly=0.7))
    own = next(choice for choice in plan.ranked if choice.gpu.name == "L4")
    assert own.hourly == (0.7 * own.count, 0.7 * own.count)
    assert len(plan.ranked) == len(load_gpus())


def test_the_text_holds_the_budget_the_ranking_and_every_assumption():
    plan = make_plan(request(gpu_hourly=0.7, measured_tokens_per_second=200))
    text = render_text(plan)
    flat = " ".join(text.split())
    for words in (
        "weights -14.96 GiB",
        "Sequences on one replica",
        "GPUs that fit, best first",
        "1 x L4",
        "$0.70",
    ):
        assert words in flat
    assert all(" ".join(words.split()) in flat for words in plan.assumptions)
    assert all(len(line) <= 100 for line in text.splitlines())
    assert text.endswith("\n")
    assert text.isascii()


def test_what_is_not_known_reads_so_and_never_zero():
    shape = ModelShape(parameters=8e9, layers=32, kv_heads=8, head_size=128)
    text = render_text(make_plan(PlanRequest(shape=shape, gpu=find_gpu("GB10"), gpu_count=2, tp=2)))
    assert text.count("not known") >= 5
    assert "communication not known" in text


def test_experts_put_off_the_batch_where_compute_decides():
    mixtral = shape_from_config(MIXTRAL_8X7B)
    plan = make_plan(request(shape=mixtral, gpu=find_gpu("B200")))
    # every expert is read at such a batch, while a token computes with 12.9 of 46.7 billion parameters
    assert plan.speed.crossing_batch == pytest.approx(2250e12 / 8e12 * mixtral.parameters / mixtral.active)
    assert make_plan(request()).speed.crossing_batch == pytest.approx(403, abs=0.5)
