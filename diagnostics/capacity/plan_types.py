"""What a plan starts from and what it says."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, not_negative, positive, share, whole
from diagnostics.capacity.choice import GpuChoice
from diagnostics.capacity.cost import CostViews
from diagnostics.capacity.hardware import Gpu
from diagnostics.capacity.memory import MemoryBudget
from diagnostics.capacity.model import ModelShape
from diagnostics.capacity.parallelism import TpOption
from diagnostics.capacity.precision import Precision
from diagnostics.capacity.roofline import StepFloor
from diagnostics.capacity.sizing import EngineSettings


class PlanRequest(Struct, frozen=True, kw_only=True):
    """The facts a plan starts from; None is "not known", and the plan says what it took instead.

    Attributes:
        shape: the model.
        gpu: the hardware.
        gpu_count: GPUs of the whole deployment.
        tp: tensor-parallel degree; None takes the largest valid one.
        stored: format of the weights; None takes the checkpoint's.
        kv_dtype: format of the KV cache; None or ``auto`` takes the model's.
        utilisation: share of GPU memory the engine may use, 0 to 1.
        mean_prompt: tokens.
        mean_output: tokens.
        high_total: a high percentile of prompt + output, tokens.
        max_model_len: longest sequence the engine admits, tokens.
        max_sequences: most sequences that run together on a replica.
        batched_tokens: most tokens in one step.
        block_size: tokens a KV block.
        cached_prompt_share: share of prompt tokens that a prefix cache serves, 0 to 1.
        measured_kv_tokens: tokens of the pool of one replica, as the engine printed them.
        measured_tokens_per_second: output tokens/s of the whole deployment.
        target_step: seconds per output token that must be met.
        needed_sequences: sequences that one replica must run together.
        gpu_hourly: US dollars an hour for one GPU.
    """

    shape: ModelShape
    gpu: Gpu
    gpu_count: int = 1
    tp: int | None = None
    stored: Precision | None = None
    kv_dtype: str | None = None
    utilisation: float | None = None
    mean_prompt: float | None = None
    mean_output: float | None = None
    high_total: int | None = None
    max_model_len: int | None = None
    max_sequences: int | None = None
    batched_tokens: int | None = None
    block_size: int | None = None
    cached_prompt_share: float | None = None
    measured_kv_tokens: int | None = None
    measured_tokens_per_second: float | None = None
    target_step: float | None = None
    needed_sequences: int | None = None
    gpu_hourly: float | None = None

    def __post_init__(self) -> None:
        for label in ("mean_prompt", "mean_output"):
            if getattr(self, label) is not None:
                not_negative(f"{label.replace('_', ' ')} in tokens", getattr(self, label))
        if self.mean_output == 0:
            raise CapacityError("mean output must be above zero tokens; leave it out when it is not known")
        for label in ("measured_tokens_per_second", "target_step", "gpu_hourly"):
            if getattr(self, label) is not None:
                positive(label.replace("_", " "), getattr(self, label))
        for label in ("gpu_count", "high_total", "max_model_len", "measured_kv_tokens", "needed_sequences"):
            if getattr(self, label) is not None:
                whole(label.replace("_", " "), getattr(self, label))
        if self.cached_prompt_share is not None:
            share("cached share of prompt tokens", self.cached_prompt_share)


class Concurrency(Struct, frozen=True):
    """Sequences that one replica holds, by three readings; None where a length is not known.

    Attributes:
        printed: pool / maximum model length, what an engine prints: a floor.
        mean: what fills the pool at mean lengths; traffic at this level is preempted at times.
        safe: what fits without preemption when all grow to the high percentile.
    """

    printed: float | None
    mean: float | None
    safe: int | None


class Speed(Struct, frozen=True):
    """How fast the deployment can be at most.

    Attributes:
        batch: sequences that decode together on a replica.
        floor: of one step, reading and computing.
        communication: seconds of all-reduces a step; 0 for one GPU, None when not known.
        step_seconds: floor plus what is known of communication.
        ceiling: output tokens/s of the whole deployment, or None when lengths are not known.
        usual: the range that well-run servers reach of it, output tokens/s, or None.
        limited_by: what decides the ceiling: bandwidth, compute, prompts.
        crossing_batch: batch where compute overtakes weight reading, or None when not known.
        efficiency: measured / ceiling, or None without a measurement.
    """

    batch: int
    floor: StepFloor
    communication: float | None
    step_seconds: float
    ceiling: float | None
    usual: tuple[float, float] | None
    limited_by: str
    crossing_batch: float | None
    efficiency: float | None


class PlanCost(Struct, frozen=True):
    """What tokens cost; US dollars.

    Attributes:
        hourly: of all GPUs.
        at_ceiling: a million output tokens at the ceiling, which no server reaches: a lower bound; or None.
        measured: a million tokens at the measured rate, by output, computed and all tokens, or None.
        measured_output: a million output tokens at the measured rate, or None.
    """

    hourly: float
    at_ceiling: float | None
    measured: CostViews | None
    measured_output: float | None


class Plan(Struct, frozen=True):
    """Capacity and cost of one deployment.

    Attributes:
        request: what was asked.
        settings: of the engine, as asked or assumed.
        tp: tensor-parallel degree.
        replicas: groups of that many GPUs.
        idle_gpus: GPUs left over.
        budget: memory of each GPU, bytes.
        kv_bytes_per_token: all GPUs of a replica together, every head once.
        kv_bytes_per_token_per_gpu: on each GPU, replication included.
        kv_tokens: pool of one replica, tokens.
        kv_tokens_measured: whether the engine printed that number.
        concurrency: of one replica.
        speed: of the deployment, or None when the model does not fit.
        tp_options: every common degree, judged.
        ranked: every kind of GPU, judged and ranked.
        cost: or None when no price is known.
        problems: what keeps this deployment from working, in words.
        assumptions: everything that was taken for granted, in words.
    """

    request: PlanRequest
    settings: EngineSettings
    tp: int
    replicas: int
    idle_gpus: int
    budget: MemoryBudget
    kv_bytes_per_token: int
    kv_bytes_per_token_per_gpu: int
    kv_tokens: int
    kv_tokens_measured: bool
    concurrency: Concurrency
    speed: Speed | None
    tp_options: tuple[TpOption, ...]
    ranked: tuple[GpuChoice, ...]
    cost: PlanCost | None
    problems: tuple[str, ...]
    assumptions: tuple[str, ...]
