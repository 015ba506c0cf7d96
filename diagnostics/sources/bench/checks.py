"""What every step goes through after reading: zeros that mean 'nothing', proofs of unit and definition."""

from __future__ import annotations

from diagnostics.model.bench import BenchRun, BenchStat, BenchStep
from diagnostics.sources.bench.values import derive

RATE_FIELDS = (
    "rps",
    "output_tps",
    "input_tps",
    "total_tps",
    "peak_output_tps",
    "goodput_rps",
    "concurrency_mean",
    "concurrency_peak",
    "input_tokens",
    "output_tokens",
)
STREAM_METRICS = ("ttft", "tpot", "itl")
TOLERANCE = 0.20
MIN_BURST, BURST_SHARE = 16, 0.5
MIN_GAP_SHARE = 0.01
LITTLE_LOW, LITTLE_HIGH = 0.5, 1.3
SCHEDULE_DELAY_LIMIT_S = 0.1
SENDING_SHARE = 0.97


def settle(run: BenchRun) -> BenchRun:
    """Apply the rules on zeros, fill what follows from reported fields, and check the identities."""
    for ordinal, step in enumerate(run.steps):
        step.ordinal = ordinal
        _drop_zeros(run, step)
        _complete(step)
        if step.valid and not step.pooled and step.measured_over != "window":
            run.warnings += [f"{_where(run, step)}{text}" for text in _identities(run, step)]
        if step.client_limited is None:
            step.client_limited = _client_limited(step)
    return run


def _where(run: BenchRun, step: BenchStep) -> str:
    return f"{step.source_path or f'step {step.ordinal + 1}'}: " if len(run.steps) > 1 else ""


def _drop_zeros(run: BenchRun, step: BenchStep) -> None:
    """Tools print 0.0 when nothing succeeded or nothing streamed; that is no measurement."""
    if step.completed == 0:
        for name in RATE_FIELDS:
            setattr(step, name, None)
        step.stats, step.valid = [], False
        step.invalid_reason = step.invalid_reason or "no request completed"
        run.warnings.append(
            f"{_where(run, step)}no request completed: latencies and rates are missing, not zero"
        )
        return
    for metric in STREAM_METRICS:
        _drop_zero_metric(run, step, metric)
    for name in ("rps", "output_tps", "total_tps", "input_tps", "peak_output_tps", "duration_s"):
        if getattr(step, name) == 0:
            setattr(step, name, None)
    step.stats = [s for s in step.stats if not (s.stat == "sd" and s.value == 0 and s.n == 1)]


def _drop_zero_metric(run: BenchRun, step: BenchStep, metric: str) -> None:
    own = [s for s in step.stats if s.metric == metric]
    central = [s for s in own if s.stat in ("mean", "p50")]
    zeros = [s for s in central if s.value == 0]
    if not zeros:
        return
    if len(zeros) == len(central):
        step.stats = [s for s in step.stats if s.metric != metric]
        if metric == "ttft":
            run.streaming = False
            run.origins["streaming"] = "derived"
        return
    if metric == "itl":
        return  # several tokens in one chunk make gaps of nought: the median then is a measurement
    step.stats = [s for s in step.stats if s not in zeros]
    run.warnings.append(
        f"{_where(run, step)}median {metric.upper()} is 0 although the mean is not: for at least half of the "
        "requests no first token was seen; the median is left out"
    )


def _complete(step: BenchStep) -> None:
    """Fields that follow from others by definition; each is marked ``derived``."""
    if step.completed is None or step.completed == 0:
        return
    if step.duration_s:
        derive(step, "rps", step.completed / step.duration_s)
        if step.output_tokens:
            derive(step, "output_tps", step.output_tokens / step.duration_s)
        if step.input_tokens:
            derive(step, "input_tps", step.input_tokens / step.duration_s)
    if step.output_tps is not None and step.input_tps is not None:
        derive(step, "total_tps", step.output_tps + step.input_tps)
    if step.requested is not None and step.requested >= step.completed and not step.incomplete:
        derive(step, "failed", step.requested - step.completed - (step.cancelled or 0))
    for metric, tokens in (("input_len", step.input_tokens), ("output_len", step.output_tokens)):
        if tokens and step.stat(metric, "mean") is None:
            step.stats.append(BenchStat(metric, "mean", tokens / step.completed, "tokens", n=step.completed))
            step.origins[f"{metric}.mean"] = "derived"
    ttft, tpot, length = step.stat("ttft", "mean"), step.stat("tpot", "mean"), step.stat("output_len", "mean")
    if step.stat("e2e", "mean") is None and None not in (ttft, tpot, length):
        e2e = (ttft or 0.0) + (tpot or 0.0) * ((length or 1.0) - 1)
        step.stats.append(BenchStat("e2e", "mean", e2e, n=step.completed))
        step.origins["e2e.mean"] = "derived"
    mean = step.stat("e2e", "mean")
    if mean is not None and step.rps is not None:
        derive(step, "concurrency_mean", step.rps * mean)
    in_flight = step.concurrency_mean or 0.0
    if (
        step.load_mode == "unknown"
        and step.completed >= MIN_BURST
        and in_flight >= BURST_SHARE * step.completed
    ):
        step.load_mode, step.arrival = "burst", "none"
        step.origins["load_mode"] = "derived"


def _identities(run: BenchRun, step: BenchStep) -> list[str]:
    """Sentences for identities that an honest file keeps and this one does not."""
    found: list[str] = []
    ratio = latency_identity(step)
    if ratio is not None and not 1 - TOLERANCE < ratio < 1 + TOLERANCE:
        found.append(
            f"TTFT + TPOT x (output length - 1) is {ratio:.2f} of the end-to-end latency where about 1 is "
            "expected: a unit or a definition is not what its name says"
        )
    length = step.stat("output_len", "mean")
    if step.output_tps and step.rps and length:
        share = step.output_tps / (step.rps * length)
        if not 1 - TOLERANCE < share < 1 + TOLERANCE and step.origins.get("output_tps") != "derived":
            reason = _rate_reason(step, share)
            found.append(f"the output rate is {share:.2f} times request rate x output length: {reason}")
    mean = step.stat("e2e", "mean")
    # Sessions may spawn requests beyond their own number, so the cap proves nothing there.
    single = step.load_mode == "closed" and not run.multi_turn
    if single and step.concurrency_cap and mean and step.rps:
        filled = step.rps * mean / step.concurrency_cap
        if filled > 1 + TOLERANCE:
            found.append(
                f"rate x latency is {filled:.2f} times the concurrency cap: the cap is not what its name says"
            )
    return found


def latency_identity(step: BenchStep) -> float | None:
    """(TTFT + TPOT x (output length - 1)) / end to end, on reported means or else medians."""
    for stat in ("mean", "p50"):
        ttft, tpot, e2e = (step.stat(metric, stat) for metric in ("ttft", "tpot", "e2e"))
        length = step.stat("output_len", "mean")
        derived = step.origins.get(f"e2e.{stat}") == "derived" and not step.requests
        if ttft is not None and tpot is not None and e2e and length and length > 1 and not derived:
            return (ttft + tpot * (length - 1)) / e2e
    return None


def _rate_reason(step: BenchStep, share: float) -> str:
    inputs, outputs = step.stat("input_len", "mean"), step.stat("output_len", "mean")
    if inputs and outputs and abs(share / ((inputs + outputs) / outputs) - 1) < TOLERANCE:
        return "it counts input tokens as well"
    return "the two are not over the same time, or one is a figure per GPU or per request"


def _client_limited(step: BenchStep) -> bool | None:
    """Whether the generator itself fell behind its schedule; None when nothing speaks of it."""
    if step.schedule_delay_p99_s is None and step.client_queue_p99_s is None and step.achieved_rps is None:
        return None
    late = (step.schedule_delay_p99_s or 0.0) > SCHEDULE_DELAY_LIMIT_S
    queued = (step.client_queue_p99_s or 0.0) > 0
    slow = (
        step.achieved_rps is not None
        and step.requested_rps is not None
        and step.achieved_rps < SENDING_SHARE * step.requested_rps
    )
    return late or queued or slow


def halved_token_times(step: BenchStep) -> bool:
    """Two stamps per stream event: reported TPOT is half the truth and the median gap next to nothing."""
    ttft, tpot, e2e = (step.stat(m, "mean") for m in ("ttft", "tpot", "e2e"))
    length = step.stat("output_len", "mean")
    median, upper = step.stat("itl", "p50"), step.stat("itl", "p75")
    if None in (ttft, tpot, e2e, length, median, upper) or not upper:
        return False
    decode, expected = (e2e or 0.0) - (ttft or 0.0), (tpot or 0.0) * ((length or 1.0) - 1)
    return decode > 0 and 0.45 <= expected / decode <= 0.55 and (median or 0.0) < MIN_GAP_SHARE * upper


def time_factor(step: BenchStep, e2e: float | None) -> float | None:
    """Seconds per unit of a latency without unit, proved by Little's law; None if unproved."""
    if step.concurrency_cap is None or not e2e or not step.rps:
        return None
    filled = step.rps * e2e / step.concurrency_cap
    for factor in (1.0, 1e-3):
        if LITTLE_LOW <= filled * factor <= LITTLE_HIGH:
            return factor
    return None
