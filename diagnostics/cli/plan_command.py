"""``diagnose plan``: capacity and cost from a model's configuration, a GPU, and what else the inputs say."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, Parser
from diagnostics.model.errors import OptionError
from diagnostics.model.samples import Setting
from diagnostics.options import Options


def parse(argv: Sequence[str]) -> Command:
    """Parse ``plan config.json [INPUT ...] --gpu ...``."""
    parser = Parser(
        prog="diagnose plan",
        description="Memory budget, safe concurrency, speed limits, GPUs that fit, cost.",
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="config.json of the model; beside it logs, commands, dumps"
    )
    parser.add_argument("--gpu", help="like 'H100 SXM'")
    parser.add_argument(
        "--gpus", type=int, help="GPUs of the deployment (default: the tensor-parallel degree, else 1)"
    )
    parser.add_argument("--gpu-hourly", type=float, metavar="PRICE")
    parser.add_argument("--engine-args", metavar="'vllm serve ...'")
    parser.add_argument("--prompt", type=float, metavar="TOKENS", help="mean prompt length")
    parser.add_argument("--answer", type=float, metavar="TOKENS", help="mean answer length")
    parser.add_argument("--longest", type=int, metavar="TOKENS", help="high percentile of prompt plus answer")
    command = parser.parse_args(list(argv[1:]), Command())
    command.action = run
    return command


def run(command: Command) -> int:
    """Make the plan and print it."""
    from diagnostics.capacity.checks import CapacityError  # noqa: PLC0415  only for this command
    from diagnostics.capacity.hardware import find_gpu  # noqa: PLC0415
    from diagnostics.capacity.model import shape_from_config  # noqa: PLC0415
    from diagnostics.capacity.plan import PlanRequest, make_plan, render_text  # noqa: PLC0415
    from diagnostics.capacity.precision import precision  # noqa: PLC0415

    config, others = _config(command.inputs)
    known = _settings(others, command.engine_args)
    gpu_name = command.gpu or known.get("gpu")
    if not gpu_name:
        raise OptionError("--gpu is needed: no input names the GPU; give it like --gpu 'H100 SXM'")
    try:
        tp = _whole(known, "tensor_parallel_size", "tp_size")
        stored = known.get("quantization")
        request = PlanRequest(
            shape=shape_from_config(config),
            gpu=find_gpu(gpu_name),
            gpu_count=command.gpus or _whole(known, "gpu_count") or tp or 1,
            tp=tp,
            stored=precision(stored) if stored else None,
            kv_dtype=known.get("kv_cache_dtype"),
            utilisation=float(known["gpu_memory_utilization"]) if "gpu_memory_utilization" in known else None,
            mean_prompt=command.prompt,
            mean_output=command.answer,
            high_total=command.longest,
            max_model_len=_whole(known, "max_model_len", "context_length"),
            max_sequences=_whole(known, "max_num_seqs", "max_running_requests"),
            batched_tokens=_whole(known, "max_num_batched_tokens"),
            block_size=_whole(known, "block_size", "page_size"),
            measured_kv_tokens=_whole(known, "kv_capacity_tokens"),
            gpu_hourly=command.gpu_hourly,
        )
        sys.stdout.write(render_text(make_plan(request)))
    except CapacityError as error:
        raise OptionError(str(error)) from error
    return Exit.DONE


def _config(inputs: list[str]) -> tuple[dict[str, object], list[str]]:
    """The model's configuration among the inputs, and the other inputs."""
    for source in inputs:
        if source.endswith(".json") and Path(source).is_file():
            try:
                value = json.loads(Path(source).read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise OptionError(f"{source}: no JSON; give the config.json of the model") from error
            if isinstance(value, dict) and ("num_hidden_layers" in value or "text_config" in value):
                return value, [other for other in inputs if other != source]
    raise OptionError("no input is a model's config.json; give the one beside its weights")


def _settings(inputs: list[str], engine_args: str | None) -> dict[str, str]:
    """Settings of the other inputs; those of --engine-args win."""
    from diagnostics.loading import load  # noqa: PLC0415
    from diagnostics.sources.config.command import read_command  # noqa: PLC0415

    found: list[Setting] = [s for c in load(inputs, Options()).captures for s in c.settings]
    if engine_args:
        found += read_command(engine_args, "asked").settings
    return {s.name: s.value for s in found}


def _whole(known: dict[str, str], *names: str) -> int | None:
    """The first of these settings that is a whole number."""
    return next((int(known[n]) for n in names if known.get(n, "").isdigit()), None)
