"""Run `matched-eval` as `python -m matcheval.cli`."""

from matcheval.cli.main import main

if __name__ == "__main__":
    main()
