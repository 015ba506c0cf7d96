"""NVIDIA's DCGM exporter: clocks, power, heat and errors of each GPU.

Not a serving engine: its series belong to a replica when they carry that replica's pod. Percentages become
shares, violation counters (nanoseconds in recent releases, off by default) become seconds.
"""

from __future__ import annotations

from diagnostics.engines.base import Engine, Metric
from diagnostics.model.catalog import Kind

_G, _C = Kind.GAUGE, Kind.COUNTER
_MIB = float(2**20)
_NS = 1e-9

ENGINE = Engine(
    name="dcgm",
    title="DCGM exporter",
    prefixes=("DCGM_",),
    metrics=(
        Metric("DCGM_FI_DEV_SM_CLOCK", "gpu_sm_clock", _G, key="gpu"),
        Metric("DCGM_FI_DEV_GPU_TEMP", "gpu_temp", _G, key="gpu"),
        Metric("DCGM_FI_DEV_POWER_USAGE", "gpu_power", _G, key="gpu"),
        Metric("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "gpu_power_limit", _G, key="gpu"),
        Metric("DCGM_FI_DEV_POWER_VIOLATION", "gpu_throttle_power", _C, scale=_NS, key="gpu"),
        Metric("DCGM_FI_DEV_THERMAL_VIOLATION", "gpu_throttle_thermal", _C, scale=_NS, key="gpu"),
        Metric("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "gpu_throttle", _G, key="gpu"),
        # The number of the last error and no count: only a change within the window means anything.
        Metric("DCGM_FI_DEV_XID_ERRORS", "gpu_xid", _G, key="gpu"),
        Metric("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gpu_tensor_active", _G, key="gpu"),
        Metric("DCGM_FI_PROF_DRAM_ACTIVE", "gpu_dram_active", _G, key="gpu"),
        Metric("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gpu_util", _G, key="gpu"),
        Metric("DCGM_FI_DEV_GPU_UTIL", "gpu_util", _G, scale=0.01, key="gpu", preference=1),
        Metric("DCGM_FI_DEV_FB_USED", "gpu_mem_used", _G, scale=_MIB, key="gpu"),
    ),
    serves=False,
    devices=True,
)
