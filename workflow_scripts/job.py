"""Run a script beside this one, where it finds the library: `python job.py train ...`."""

import runpy
import sys

if __name__ == "__main__":
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
