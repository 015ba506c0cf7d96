"""AMD's device metrics exporter: use, power, heat and memory of each GPU. From its documentation; not seen in a recording.

Its clocks and throttle counters are left out: what they count is not said.
"""

from __future__ import annotations

from diagnostics.engines.base import Engine, Metric
from diagnostics.model.catalog import Kind

_G = Kind.GAUGE
_MB = 1e6

ENGINE = Engine(
    name="amd",
    title="AMD device metrics exporter",
    prefixes=("gpu_",),
    metrics=(
        Metric("gpu_gfx_activity", "gpu_util", _G, scale=0.01, key="gpu_id"),
        Metric("gpu_prof_tensor_active_percent", "gpu_tensor_active", _G, scale=0.01, key="gpu_id"),
        # Newer cards have the first of these, older ones the second.
        Metric("gpu_package_power", "gpu_power", _G, key="gpu_id"),
        Metric("gpu_average_package_power", "gpu_power", _G, key="gpu_id", preference=1),
        Metric("gpu_junction_temperature", "gpu_temp", _G, key="gpu_id"),
        Metric("gpu_used_vram", "gpu_mem_used", _G, scale=_MB, key="gpu_id"),
    ),
    serves=False,
    devices=True,
)
