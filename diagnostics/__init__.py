"""Find out why an LLM server is slow: the cause, the proof beside it, and the exact change.

``diagnose`` is the whole product in one call; the command line, the page and the reports are made from what it
returns.
"""

from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.report import Diagnosis, Report
from diagnostics.options import TOOL, Access, Options
from diagnostics.pipeline import diagnose

__version__ = TOOL.version
__all__ = ["Access", "Diagnosis", "InputError", "OptionError", "Options", "Report", "__version__", "diagnose"]
