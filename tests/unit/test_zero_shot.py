"""Zero-shot classifiers of open_clip, with a tiny network of random weights."""

import json
from dataclasses import replace

import numpy as np
import open_clip
import pytest
import torch
from safetensors.torch import save_file

from image_sets import dataset, photos
from matcheval.datasets.label_spaces import class_subset, imagenet_classes
from matcheval.errors import InputError
from matcheval.inference.job import predict_datasets
from matcheval.inference.outputs import read_vectors
from matcheval.inference.settings import InferenceConfig
from matcheval.inference.store import ModelFiles
from matcheval.models.loading import load_model, words_for_classes
from matcheval.models.published import describe_open_clip
from matcheval.models.rows import ModelSource
from matcheval.predictions.files import read_predictions

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
    "text_cfg": {"context_length": 24, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}  # fmt: skip
CLASSES = ("cat", "dog", "fire truck")
TWO = "a photo of a {}. | art of the {}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Weights of a tiny network, which open_clip knows by name, and a set of photographs."""
    folder = tmp_path_factory.mktemp("clip")
    (folder / "tiny.json").write_text(json.dumps(TINY))
    open_clip.add_model_config(folder / "tiny.json")
    torch.manual_seed(0)
    save_file(open_clip.create_model("tiny").state_dict(), folder / "tiny.safetensors")
    image_set(folder=folder)
    return folder


def image_set(classes=CLASSES, **options):
    images = photos(12, seed=3, edges=(40, 90)).images
    return dataset(images, np.arange(12) % 3, "photos", classes, **options)


def source(folder, name="m", **cells):
    cells = {"source": f"tiny:{folder / 'tiny.safetensors'}", **cells}
    return ModelSource.from_row(name, "open_clip", cells)


def naive_logits(folder, images, templates, names):
    """Class by class and template by template, as section 3.1.4 of the paper describes it."""
    model, _, preprocess = open_clip.create_model_and_transforms(
        "tiny", pretrained=str(folder / "tiny.safetensors")
    )
    model.eval()
    columns = []
    with torch.no_grad():
        shown = model.encode_image(torch.stack([preprocess(image) for image in images]))
        shown = shown / shown.norm(dim=1, keepdim=True)
        for name in names:
            total = torch.zeros(16)
            for template in templates:
                text = open_clip.tokenize([template.replace("{}", name)], context_length=24)
                encoded = model.encode_text(text)[0]
                total += encoded / encoded.norm()
            columns.append(model.logit_scale.exp() * (shown @ (total / total.norm())))
    return torch.stack(columns, dim=1).numpy()


def test_logits_are_those_of_a_naive_computation(folder, tmp_path):
    models = [ModelFiles(source(folder, prompts=TWO), folder / "tiny.safetensors")]
    photographs, config = {"photos": folder / "photos"}, InferenceConfig()
    predict_datasets(models, photographs, tmp_path, ["logits"], config=config)
    found = read_vectors(tmp_path / "photos/m.logits.parquet", "logits").values
    templates = ["a photo of a {}.", "art of the {}"]
    images = [image_set().image(i) for i in range(12)]
    np.testing.assert_allclose(found, naive_logits(folder, images, templates, CLASSES), atol=1e-4)
    assert np.ptp(found, axis=1).min() > 1e-3
    metadata = read_predictions(tmp_path / "photos" / "m.parquet").metadata
    assert metadata["model_source"].endswith(f"prompts {TWO}")
    assert metadata["open_clip_torch"] == open_clip.__version__


def test_swapped_classes_swap_their_columns(folder):
    """Labels follow the order of the classes, also where a file gives their names."""
    weights = folder / "tiny.safetensors"
    images = torch.rand(4, 3, 32, 32)
    first = load_model(source(folder), weights, image_set())
    swapped = load_model(source(folder), weights, image_set(("dog", "cat", "fire truck")))
    found = first.module(images)
    torch.testing.assert_close(swapped.module(images), found[:, [1, 0, 2]])
    assert first.weights_sha256 != swapped.weights_sha256
    names = folder / "names.yaml"
    names.write_text("{1: dog, 0: cat, 2: fire truck, 3: unused}")
    named = load_model(source(folder, class_names=str(names)), weights, image_set(("0", "1", "2")))
    torch.testing.assert_close(named.module(images), found)


def test_weights_with_a_tag_have_the_transform_of_the_tag(folder, monkeypatch):
    tag = {"hf_hub": "user/tiny/", "resize_mode": "squash", "interpolation": "bilinear"}
    monkeypatch.setitem(
        open_clip.pretrained._PRETRAINED, "tiny", {"tag": tag | {"mean": (0.5,) * 3}}
    )
    tagged = source(folder, source="tiny:tag")
    assert tagged.own_weights == ""
    assert describe_open_clip("tiny:tag").url.endswith(
        "user/tiny/resolve/main/open_clip_model.safetensors"
    )
    found = load_model(tagged, folder / "tiny.safetensors", image_set())
    assert found.transform.geometry.text == "edges to 32, aspect not kept (bilinear), centre 32"
    assert found.transform.mean == (0.5, 0.5, 0.5)
    own = load_model(source(folder), folder / "tiny.safetensors", image_set())
    assert found.weights_sha256 == own.weights_sha256


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ViT-B-32:laion3b", "no weights 'laion3b' of ViT-B-32.*or a tag: openai, laion400m_e31"),
        ("ViT-B-32:openai", "trained with QuickGELU, unlike ViT-B-32. Name ViT-B-32-quickgelu"),
        ("coca_ViT-B-32:laion2b_s13b_b90k", "a tokenizer of the hub, or writes captions"),
    ],
)
def test_models_that_there_are_not(folder, text, message):
    with pytest.raises(InputError, match=message):
        describe_open_clip(text)
    with pytest.raises(InputError, match=r"'\{\} \{\}' has not one"):
        source(folder, prompts="a {} | {} {}")


def test_classes_of_imagenet_have_the_names_of_the_paper(folder):
    """The names are open_clip's, by position; words of WordNet's lemmas show that it is right."""
    from timm.data import ImageNetInfo

    wnids, info = imagenet_classes(), ImageNetInfo()
    names = words_for_classes(source(folder), wnids, "d")
    lemmas = [info.label_name_to_description(wnid, detailed=True).lower() for wnid in wnids]
    # Names were improved, but each is mostly of the same words.
    shared = [
        any(word in lemma for word in name.lower().split())
        for name, lemma in zip(names, lemmas, strict=True)
    ]
    assert np.mean(shared) > 0.95
    subset = class_subset("imagenet-r")
    expected = [names[wnids.index(wnid)] for wnid in subset]
    assert words_for_classes(source(folder), subset, "d") == expected


def test_what_results_depend_on(folder, tmp_path):
    """Prompts, names of classes and weights; not where the user's weights lie."""
    weights, names = folder / "tiny.safetensors", tmp_path / "names.yaml"
    names.write_text("cat: a")
    base = source(folder)
    changed = [
        base,
        source(folder, prompts=TWO),
        source(folder, class_names=str(names)),
        replace(base, source="other:w.pt"),
    ]
    digests = [ModelFiles(one, weights).digest() for one in changed]
    assert len(set(digests)) == 4
    assert ModelFiles(replace(base, source="tiny:w.pt"), weights).digest() == digests[0]
    names.write_text("cat: b")
    assert ModelFiles(changed[2], weights).digest() != digests[2]
