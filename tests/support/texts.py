"""Small texts as inputs: a launch command, some log lines, a model's configuration."""

from __future__ import annotations

import json
from pathlib import Path

from diagnostics import Options, diagnose
from diagnostics.model.report import Report

ENGINE = "(EngineCore_DP0 pid=312) INFO 11-29 10:{:02d}:00 [core.py:58] "
LLAMA_8B = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
    "max_position_embeddings": 131072, "tie_word_embeddings": False,
}  # fmt: skip


def read(folder: Path, text: str, config: dict[str, object] | None = None, **options: object) -> Report:
    """Diagnose one text, or a folder of it and a model's configuration."""
    inside = folder / f"case-{len(list(folder.iterdir()))}"
    inside.mkdir()
    (inside / "input.txt").write_text(text)
    if config is not None:
        (inside / "config.json").write_text(json.dumps(config))
    source = inside / "input.txt" if config is None else inside
    return diagnose([str(source)], Options(**options)).report  # type: ignore[arg-type]


def log(*messages: str) -> str:
    """Lines of a vLLM log, a minute apart."""
    return "".join(ENGINE.format(i) + message + "\n" for i, message in enumerate(messages))
