"""The arithmetic of serving: memory, roofline, communication, speculation, cost."""

from __future__ import annotations

from diagnostics.late import late

__getattr__ = late(__name__, ("",))
