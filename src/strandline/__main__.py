"""`python -m strandline` is the `strandline` command, and so is what pip installs under that name."""

from __future__ import annotations

from strandline.interrupts import end_at_once_when_interrupted


def main() -> None:
    end_at_once_when_interrupted()
    from strandline.cli.main import main as run  # which takes its time, and Ctrl-C may come meanwhile

    run()


if __name__ == "__main__":
    main()
