"""What the first page needs, loaded once, beside the server and before any page runs.

Pages run in threads: two of them that load pandas at the same moment would see half of it.
"""

from __future__ import annotations

from importlib import import_module
from threading import Lock

from diagnostics import late
from diagnostics.evaluate.registry import all_rules

_MODULES = ("pandas", "plotly.graph_objects", "diagnostics.pipeline")
_LOCK = Lock()


def load() -> None:
    """Load charts, tables and rules; whoever comes second waits for the first."""
    with _LOCK:
        for name in _MODULES:
            import_module(name)
        all_rules()
        late.run_all()
