"""On one machine, no more GPU jobs run than there are GPUs, each on its own: real Snakemake runs.

The GPUs are names without devices; jobs note when they ran, and on which GPU.
"""

import json

import pytest

pytestmark = pytest.mark.slow

# Put at the head of predict.py: notes the GPU, and predicts without one.
NOTE = """
import json, os, pathlib, sys, time
_place = sys.argv.index("--device") + 1
assert sys.argv[_place] == "cuda"
sys.argv[_place] = "cpu"
_begin = time.time()
time.sleep(1.0)
with open("notes", "a") as _file:
    _gpu = os.environ["CUDA_VISIBLE_DEVICES"]
    _file.write(json.dumps({"gpu": _gpu, "begin": _begin, "end": time.time()}) + "\\n")
"""


def test_as_many_jobs_as_gpus_each_with_its_own(copy, tmp_path):
    main = 'if __name__ == "__main__":'
    copy.edit("workflow_scripts/predict.py", main, NOTE + main)
    copy.edit("small.yaml", "matching:", "inference: {device: cuda}\nmatching:")
    variables = {"CUDA_VISIBLE_DEVICES": "0,GPU-b7", "MATCHEVAL_GPU_LOCKS": str(tmp_path)}
    copy.run("predictions", "--cores", "6", **variables)
    notes = [json.loads(line) for line in (copy.folder / "notes").read_text().splitlines()]
    assert len(notes) == 3
    assert {note["gpu"] for note in notes} == {"0", "GPU-b7"}
    for note in notes:
        # Those that ran when this one began.
        others = [n for n in notes if n["begin"] <= note["begin"] < n["end"] and n is not note]
        assert len(others) <= 1
        assert note["gpu"] not in [other["gpu"] for other in others]
