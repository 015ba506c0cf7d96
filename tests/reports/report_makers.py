"""Small diagnoses made through the public interface, from OpenMetrics text that is written here."""

from __future__ import annotations

from pathlib import Path

from diagnostics.model.report import Diagnosis
from diagnostics.options import Options
from diagnostics.pipeline import diagnose

START, STEP, SCRAPES = 1_760_000_000.0, 5.0, 60
COUNTERS = {
    "vllm:prompt_tokens": 400.0,
    "vllm:generation_tokens": 300.0,
    "vllm:request_success": 1.0,
    "vllm:num_preemptions": 0.0,
}
# Seconds of each stage when the replica is at its cap, and when it is not.
STAGES = {
    "time_to_first_token": (9.0, 0.2),
    "request_queue_time": (8.6, 0.0),
    "request_prefill_time": (0.3, 0.15),
}


def _labels(labels: dict[str, str], **more: str) -> str:
    def quoted(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{k}="{quoted(v)}"' for k, v in {**labels, **more}.items()) + "}"


def openmetrics(
    replicas: dict[str, bool], labels: dict[str, str], *, model: str = "chat", gap: bool = False
) -> str:
    """A course of five minutes; a replica that is true sits at its cap of 4 in the middle of it."""
    lines: list[str] = []

    def put(name: str, kind: str, own: dict[str, str], values: list[float], base: str = "") -> None:
        if f"# TYPE {base or name} {kind}" not in lines:
            lines.append(f"# TYPE {base or name} {kind}")
        for i, value in enumerate(values):
            if not (gap and 25 <= i < 32):
                lines.append(f"{name}{_labels(own)} {value} {START + i * STEP}")

    for instance, sick in replicas.items():
        own = {"model_name": model, "engine": "0", "instance": instance, "job": "vllm", **labels}
        bad = [sick and 15 <= i < 50 for i in range(SCRAPES)]
        put("vllm:num_requests_running", "gauge", own, [4.0 if b else 1.0 + i % 2 for i, b in enumerate(bad)])
        put("vllm:num_requests_waiting", "gauge", own, [20.0 + i if b else 0.0 for i, b in enumerate(bad)])
        put("vllm:kv_cache_usage_perc", "gauge", own, [0.2 if b else 0.05 for b in bad])
        for name, rate in COUNTERS.items():
            put(f"{name}_total", "counter", own, [i * STEP * rate for i in range(SCRAPES)], name)
        for name, (high, low) in STAGES.items():
            metric, total, sums = f"vllm:{name}_seconds", 0.0, []
            for b in bad:
                total += STEP * (high if b else low)
                sums.append(total)
            put(f"{metric}_sum", "histogram", own, sums, metric)
            put(f"{metric}_count", "histogram", own, [STEP * (i + 1) for i in range(SCRAPES)], metric)
            put(
                f"{metric}_bucket",
                "histogram",
                {**own, "le": "+Inf"},
                [STEP * (i + 1) for i in range(SCRAPES)],
                metric,
            )
    return "\n".join([*_grouped(lines), "# EOF", ""])


def _grouped(lines: list[str]) -> list[str]:
    """Samples below the type of their family, as the format asks."""
    families: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("# TYPE"):
            families.setdefault(line.split()[2], []).append(line)
    names = sorted(families, key=len, reverse=True)
    for line in lines:
        if not line.startswith("#"):
            families[next(n for n in names if line.startswith(n))].append(line)
    return [line for family in families.values() for line in family]


def made(
    folder: Path,
    replicas: dict[str, bool] | None = None,
    labels: dict[str, str] | None = None,
    *,
    model: str = "chat",
    gap: bool = False,
    name: str = "openmetrics.txt",
    **options: object,
) -> Diagnosis:
    """A diagnosis with charts of replicas, sick ones pinned at their cap."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    replicas = {"pod-0:8000": True, "pod-1:8000": False} if replicas is None else replicas
    path.write_text(openmetrics(replicas, labels or {}, model=model, gap=gap), "utf-8")
    options.setdefault("engine_args", f"vllm serve {model} --max-num-seqs 4")
    return diagnose([str(path)], Options(**options), charts=True)  # type: ignore[arg-type]
