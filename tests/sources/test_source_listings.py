"""Tables of GPUs, lists of metric families, refused arguments: known for what they are, and nothing is made of them."""

from __future__ import annotations

import pytest

from diagnostics import diagnose
from diagnostics.model.samples import Capture
from diagnostics.sources.content import Content
from diagnostics.sources.recognise import ReadOptions, read_content

ENERGY = "gpu,total_energy_consumption\n0,339360563.2\n1,340099713.6\n\n"
SMI = (
    "timestamp, index, utilization.gpu [%], power.draw [W]\n2026/11/29 10:02:11.000, 0, 98 %, 688.10 W\n"
    "2026/11/29 10:02:11.000, 1, 97 %, 690.00 W\n"
)
FAMILIES = "# of a release\nvllm:cache_config_info gauge\nvllm:generation_tokens_total counter\nprocess_cpu_seconds_total counter\n"


def _read(text: str) -> Capture:
    return read_content(Content("x.csv", data=text.encode()), ReadOptions())


@pytest.mark.parametrize(
    ("text", "columns"), [(ENERGY, "total_energy_consumption"), (SMI, "utilization.gpu [%], power.draw [W]")]
)
def test_a_table_of_gpus_has_its_kind(text: str, columns: str) -> None:
    capture = _read(text)
    assert capture.kind == "telemetry"
    assert capture.recognised.startswith(f"GPU table: {columns} of 2 GPUs; no rule reads it")
    report = diagnose(["-"], stdin=text.encode()).report
    assert (report.verdict.status, report.inputs[0].kind) == ("insufficient-data", "telemetry")


@pytest.mark.parametrize(
    "text", ["gpu,price\n0,4\n", "gpu,power\nH100,700\n", "gpu,power\n", "index of power\n0 1\n"]
)
def test_other_tables_are_not(text: str) -> None:
    assert _read(text).kind == "unknown"


def test_a_list_of_families_names_the_engine() -> None:
    capture = _read(FAMILIES)
    assert (capture.engine, capture.recognised) == ("vllm", "3 names of metrics without values")
    assert diagnose(["-"], stdin=FAMILIES.encode()).report.verdict.status == "insufficient-data"


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        ("vllm: error: unrecognized arguments: --no-such-flag 3", "vllm"),
        ("(APIServer pid=1) api_server.py: error: argument --max-num-seqs: invalid int value: 'x'", "vllm"),
        ("launch_server.py: error: unrecognized arguments: --no-such-flag 3", "sglang"),
    ],
)
def test_arguments_that_a_server_refused_are_named(line: str, engine: str) -> None:
    capture = _read(f"usage: x [-h]\n{line}\n")
    assert capture.engine == engine
    assert capture.warnings == [
        f"the server refused its arguments and did not start: {line.partition('error: ')[2]}"
    ]
