"""``python -m diagnostics`` is ``diagnose``."""

from diagnostics.cli.main import run

if __name__ == "__main__":
    run()
