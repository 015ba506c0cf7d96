"""How fast pages are: 100 replicas over 6 h, and the first verdict of a sample. Run by ``make bench``.

Nothing here is a test: no check depends on how fast a machine is.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "app")]

from browser import Browser  # noqa: E402  the tests' browser
from support.carriers import number_text  # noqa: E402
from support.dashboard import dashboard  # noqa: E402
from support.series import Recording  # noqa: E402
from support.vllm import add_vllm  # noqa: E402

REPLICAS, HOURS, STEP, ROUNDS = 100, 6, 15, 6
# Each page with what stands on it and on no other.
PAGES = {
    "Fleet": "How evenly the work is shared",
    "Latency & load": "Gap between tokens",
    "Cache": "Prefix cache",
    "Now": "What was binding",
    "Data": "What was read",
}
_SWITCH = """new Promise((done, fail) => {
 const link = [...document.querySelectorAll('a')].find(a => a.innerText.trim() === LABEL);
 const from = performance.now(), before = location.pathname;
 const drawn = () => location.pathname !== before
  && document.querySelector('[data-testid=stApp]').getAttribute('data-test-script-state') === 'notRunning'
  && document.querySelector('[data-testid=stMain]').textContent.includes(WANTED)
  && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(c => c.querySelector('.main-svg'))
  && [...document.querySelectorAll('.d-later')].every(r => r.getBoundingClientRect().top > innerHeight);
 const look = () => drawn() ? done(performance.now() - from)
  : performance.now() - from > 60000 ? fail(new Error(LABEL + ' is not drawn')) : setTimeout(look, 20);
 link.click(); look();
})"""
_FIRST = """new Promise(done => { const look = () => document.querySelector('.d-verdict h1')
 ? done(performance.now()) : setTimeout(look, 5); look(); })"""


def fleet(scrapes: int, replicas: int) -> Iterator[Recording]:
    """Replica after replica; every tenth one sits at its cap for an hour, one after the other."""
    hour = 3600 // STEP
    for i in range(replicas):
        running, waiting = [3.0 + (i + k) % 3 for k in range(scrapes)], [0.0] * scrapes
        if i % 10 == 0:
            begin = (i * scrapes // replicas) % max(1, scrapes - hour)
            running[begin : begin + hour] = [64.0] * hour
            waiting[begin : begin + hour] = [30.0 + k % 7 for k in range(hour)]
        yield add_vllm(
            Recording(step=STEP), scrapes, instance=f"llm-{i:03d}.serving:8000", running=running, waiting=waiting,
            queue_seconds=4.0 if i % 10 == 0 else 0.01, ttft_seconds=4.2 if i % 10 == 0 else 0.1,
        )  # fmt: skip


def write_fleet(folder: Path, scrapes: int, replicas: int) -> int:
    """The fleet as the saved answer of a range query; returns the number of samples."""
    count = 0
    with gzip.open(folder / "prometheus.json.gz", "wt", compresslevel=1) as file:
        comma = '{"status":"success","data":{"resultType":"matrix","result":['
        for recording in fleet(scrapes, replicas):
            for line in recording.lines:
                values = [[recording.time(k), number_text(float(v or 0))] for k, v in enumerate(line.values)]
                file.write(
                    comma + json.dumps({"metric": {"__name__": line.name, **line.labels}, "values": values})
                )
                comma, count = ",", count + len(values)
        file.write("]}}")
    return count


def switches(address: str) -> dict[str, list[float]]:
    """Milliseconds from a click in the navigation to the drawn page; the first round only warms up."""
    taken: dict[str, list[float]] = {name: [] for name in PAGES}
    with Browser() as browser:
        browser.open(address)
        browser.wait("document.querySelector('.d-verdict h1')", 600)
        browser.wait_idle()
        for number in range(ROUNDS + 1):
            for name, wanted in PAGES.items():
                script = _SWITCH.replace("LABEL", json.dumps(name)).replace("WANTED", json.dumps(wanted))
                spent = float(browser.run(script))
                if number:
                    taken[name].append(spent)
    return taken


def p95(values: list[float]) -> float:
    """The value that one in twenty exceeds."""
    return statistics.quantiles(values, n=20)[-1]


def first_verdict(sample: str) -> float:
    """Milliseconds from opening a sample to its sentence, on a server that is ready."""
    with dashboard() as address, Browser() as browser:
        browser.open(f"{address}/?source={sample}")
        browser.wait("document.querySelector('.d-verdict h1')")
        return float(browser.run(_FIRST))


def main() -> None:
    """Print everything."""
    verdicts = [first_verdict(s) for s in ("concurrency-cap", "round-robin", "healthy")]
    print(f"first verdict of a sample: {max(verdicts):.0f} ms, the slowest of {len(verdicts)} (aim: 3000 ms)")
    with tempfile.TemporaryDirectory() as folder:
        samples = write_fleet(Path(folder), HOURS * 3600 // STEP, REPLICAS)
        with dashboard(folder) as address:
            taken = switches(address)
    every = [v for values in taken.values() for v in values]
    print(
        f"page switch with {REPLICAS} replicas x {HOURS} h, {samples:,} samples: p95 {p95(every):.0f} ms",
        end="",
    )
    print(f", median {statistics.median(every):.0f} ms of {len(every)} switches (aim: p95 700 ms)")
    for name, values in taken.items():
        print(f"  {name}: median {statistics.median(values):.0f} ms, longest {max(values):.0f} ms")


if __name__ == "__main__":
    main()
