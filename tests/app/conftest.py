"""An incident written to a file, and the dashboard started on it as users start it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app_inputs import HOSTILE, calm, capped, write, write_bench
from streamlit.testing.v1 import AppTest
from support.dashboard import REPOSITORY, dashboard

from app.settings import Settings, configure


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of samples: an incident, a healthy one, one with hostile names, and one that tells nothing."""
    root = tmp_path_factory.mktemp("samples")
    write(capped(), root / "capped")
    write(calm(), root / "calm")
    write(capped((HOSTILE, "vllm-1:8000")), root / "hostile")
    (root / "prose").mkdir()
    (root / "prose" / "note.txt").write_text("The server felt slow on Monday.\n")
    write_bench(root / "bench")
    (root / "index.toml").write_text(
        "".join(
            f'[[sample]]\nfolder = "{n}"\ntitle = "{n}"\n'
            for n in ("capped", "calm", "hostile", "prose", "bench")
        )
    )
    return root


@pytest.fixture
def opened(inputs: Path) -> Callable[..., AppTest]:
    """Run a page of the dashboard without a browser."""
    configure(Settings(samples=inputs))

    def run(page: str = "", **parameters: str) -> AppTest:
        app = AppTest.from_file(str(REPOSITORY / "app" / "streamlit_app.py"), default_timeout=300)
        app.query_params.update(parameters)
        app.run()
        if page:
            app.switch_page(f"views/{page}.py").run()
        return app

    return run


@pytest.fixture(scope="session")
def server(inputs: Path) -> Iterator[str]:
    """The address of a dashboard that was started on the samples, once it is ready."""
    with dashboard(str(inputs)) as address:
        yield address
