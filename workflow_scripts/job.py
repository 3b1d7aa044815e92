"""Run a function of the library or of a file beside this one, such as `train:train_models`."""

import sys

if __name__ == "__main__":
    from matcheval.execution.entry_points import import_function, run_script

    run_script(import_function(sys.argv[1]), sys.argv[2:])
