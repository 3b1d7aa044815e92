"""Predictions and models on the Hugging Face hub, which a local server stands for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import matcheval as me
from helpers import simulate
from matcheval.predictions.records import write_predictions
from servers import serving

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def hub(tmp_path):
    with serving() as files:
        files.headers["X-Repo-Commit"] = COMMIT
        yield files


@pytest.fixture
def run(hub, tmp_path):
    """Run Python, of which huggingface_hub reads the address once, with a cache of its own."""

    def run(*arguments, **variables):
        found = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "hf"), **variables}
        environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow_scripts")} | found
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return run


def test_the_command_reads_predictions_of_the_hub(hub, run, tmp_path):
    for name, n in (("old", 90), ("new", 60)):
        write_predictions(simulate(n, 3, n), tmp_path / f"{name}.csv")
    texts = [(tmp_path / f"{name}.csv").read_bytes() for name in ("old", "new")]
    hub.files["datasets/user/sets/resolve/main/old.csv"] = texts[0]
    hub.files["user/model/resolve/v1/outputs/new.csv"] = texts[1]
    addresses = "hf://datasets/user/sets/old.csv", "hf://user/model@v1/outputs/new.csv"
    command = ["-m", "matcheval.cli", "compare", "--seeds", 1]
    local = run(*command, "old.csv", "new.csv")
    done = run(*command, *addresses)
    assert done.stderr == ""
    assert done.stdout == local.stdout
    assert "old (original) against new" in done.stdout
    hub.requests.clear()
    assert run(*command, *addresses, HF_HUB_OFFLINE="1").stdout == local.stdout  # of the cache
    assert not hub.requests
    missing = run(*command, addresses[0], "hf://user/model/none.csv")
    assert missing.returncode == 1
    assert missing.stderr.startswith("error: hf://user/model/none.csv: the hub gave no such file (")


MODEL = """
import sys, numpy as np, torch, matcheval as me
from pathlib import Path
from matcheval.models.loading import load_timm_model
from matcheval.models.published import describe_published
from matcheval.models.rows import ModelSource
images = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
loader = [(images[:4], np.arange(4)), (images[4:], np.arange(4))]
print(me.evaluate("hf://user/net", loader, device="cpu")["logits"].tolist())
print(me.compare("hf://user/net", loader, loader[:1], seeds=1).models)
row = ModelSource.from_row("mine", "timm", {"source": "hf://user/net"})
found = describe_published([row], "descriptions")["mine"]
print(found.file_name, found.url, found.n_classes)
loaded = load_timm_model(row, Path(sys.argv[1]), None)
with torch.inference_mode():
    print(loaded.module.eval()(images).tolist(), loaded.transform.geometry)
"""


@pytest.mark.slow
def test_a_model_of_the_hub_in_three_lines(hub, run, tmp_path):
    import timm
    import torch
    from safetensors.torch import save

    torch.manual_seed(1)
    net, other = (timm.create_model("test_resnet", num_classes=4).eval() for _ in range(2))
    about = {"architecture": "test_resnet", "num_classes": 4, "pretrained_cfg": {}}
    hub.files["user/net/resolve/main/config.json"] = json.dumps(about).encode()
    hub.files["user/net/resolve/main/model.safetensors"] = save(net.state_dict())
    weights = tmp_path / "weights.safetensors"  # which the workflow has downloaded, earlier
    weights.write_bytes(save(other.state_dict()))
    done = run("-W", "ignore", "-c", MODEL, weights)
    assert not done.returncode, done.stderr
    logits, models, described, loaded = done.stdout.splitlines()
    images = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        for found, model in ((logits, net), (loaded.rpartition("]]")[0] + "]]", other)):
            torch.testing.assert_close(torch.tensor(json.loads(found)), model(images))
    url = f"{hub.address}/user/net/resolve/main/model.safetensors"
    assert described == f"hf_user_net.safetensors {url} 4"
    assert models == "('user/net',)"
    with pytest.raises(me.InputError, match=r"^resnet_of_nobody: timm has no such model"):
        me.evaluate("resnet_of_nobody", [])
