"""Sample a test set from a pool of candidates, after simulating or counting annotations."""

from matcheval.analyses.sampling.annotations import count, simulate
from matcheval.analyses.sampling.build import sample
from matcheval.execution.entry_points import run_script

if __name__ == "__main__":
    run_script({"simulate": simulate, "count": count, "dataset": sample})
