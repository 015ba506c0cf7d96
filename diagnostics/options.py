"""Everything a user can say besides the inputs. The command line, a TOML file and the page all fill this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from diagnostics.model.configuration import Configuration
from diagnostics.model.report import Tool

if TYPE_CHECKING:
    from diagnostics.model.history import ScrapeHistory


class Access(Struct, frozen=True):
    """How to reach a company's metrics engine. Secrets stay here and go nowhere else.

    Attributes:
        headers: sent with every request.
        bearer_token_file: file whose content is the token.
        basic: user and password, from the environment or a file.
        ca_file: certificates to trust; verification itself is never off.
        client_cert, client_key: files for mutual TLS.
        org_id: tenant of a multi-tenant store (``X-Scope-OrgID``).
    """

    headers: dict[str, str] = field(default_factory=dict)
    bearer_token_file: str | None = None
    basic: tuple[str, str] | None = None
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    org_id: str | None = None

    def __repr__(self) -> str:
        """Nothing of it, since a traceback may show it."""
        return "Access(...)"


class Options(Struct, frozen=True):
    """Options of one diagnosis.

    Attributes:
        since: seconds to look back from now, for live sources.
        start, end: Unix seconds, instead of ``since``.
        step: seconds between points of a live range query; None chooses.
        select: PromQL matchers that narrow a live source.
        interval: seconds between dumps that carry no time.
        timezone: zone of log times that carry none; None means UTC.
        engine_args: a launch command that no input carries.
        gpu, gpu_hourly, slo: facts that no input carries.
        store: DuckDB file to keep the data in; None keeps it in memory.
        only, ignore: slugs to restrict to, or to suppress.
        runbook_base, dashboard_base: where links point.
        baseline: a window ``FROM..TO``, or another input: what to compare with.
        after: Unix seconds of a change whose effect is asked for.
        configuration: what a team's TOML file adds.
        history: what was scraped of live pages before; None begins anew with every diagnosis.
    """

    since: float = 1800.0
    start: float | None = None
    end: float | None = None
    step: float | None = None
    select: str = ""
    interval: float | None = None
    timezone: str | None = None
    engine_args: str | None = None
    gpu: str | None = None
    gpu_hourly: float | None = None
    slo: dict[str, float] = field(default_factory=dict)
    access: Access = field(default_factory=Access)
    store: str | None = None
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    runbook_base: str | None = None
    dashboard_base: str | None = None
    baseline: str | None = None
    after: float | None = None
    configuration: Configuration = field(default_factory=Configuration)
    history: ScrapeHistory | None = None


TOOL = Tool("llm-serving-diagnostics", "0.1.0")
