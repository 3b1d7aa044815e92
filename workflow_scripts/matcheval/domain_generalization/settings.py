"""Settings of the analysis of domain generalisation."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from matcheval.settings import Count, Integer, Named, Settings, SomeNames, SomeUnique, SuiteName
from matcheval.training.options import ALGORITHMS

Rule = Literal["source_validation", "leave_one_domain_out", "oracle"]
SOURCE_VALIDATION: Rule = "source_validation"
LEFT_OUT: Rule = "leave_one_domain_out"
ORACLE: Rule = "oracle"
ERM = "erm"
FRECHET = "frechet_reference"  # the method that says how far a set is from the sources

# All trainings are planned at once: a seed given in place of their number would fill the memory.
_Few = Annotated[Integer, Field(ge=1, le=1000)]


class BlockSettings(Settings):
    """Sets to train on together, and the sets that the models are tested on."""

    sources: SomeNames = Field(description="Sets that models are trained on: one or several")
    targets: SuiteName = Field(
        description="Suite that they are tested on; none of its sets is a source"
    )


class ScoredSettings(Settings):
    """Scores of accuracy prediction on the targets of blocks, of the models of some algorithms."""

    algorithms: SomeUnique[str] = Field(
        (ERM, "sd"), description="Algorithms whose models are scored; ERM is always there"
    )
    methods: SomeUnique[str] = Field(
        ("nuclear_norm", FRECHET),
        description="Methods of accuracy prediction. The base is the validation parts of the "
        "sources, the reference their training parts",
    )


class DomainGeneralizationSettings(Settings):
    """Trainings on several sets by algorithms of domain generalisation, tested on other sets."""

    blocks: Named[BlockSettings] = Field({}, description="Choices of sources, by name")
    leave_one_out: Named[SuiteName] = Field(
        {},
        description="Suites whose sets are domains, by the name of the design: each set in turn is "
        "the target, and all others are sources",
    )
    columns: Literal["group", "subgroup"] = Field(
        "group", description="Sets that tables average: of a group, or of a subgroup of it"
    )
    algorithms: SomeUnique[str] = Field(
        tuple(ALGORITHMS), description="Names of algorithms (docs/models.md); ERM is always there"
    )
    groups: _Few = Field(
        3, description="Groups of hyper-parameters: the defaults, and others drawn at random"
    )
    options: dict[str, dict[str, Any]] = Field(
        {}, description="Options in all groups, by algorithm; they are not drawn"
    )
    scaled: bool = Field(
        True,
        description="Whether burn-ins and late learning rates are scaled from DomainBed's 5,001 "
        "steps and learning rate 5e-5 to those of this study",
    )
    seeds: _Few = Field(
        3, description="Number of trainings of each group; every seed has its own split"
    )
    validation_parts: Annotated[int, Field(ge=2)] = Field(
        5,
        description="One part in so many of each source is for validation, the same of all classes",
    )
    steps: Count = Field(5000, description="Steps of a training, rounded up to whole evaluations")
    evaluate_every: Count = Field(300, description="Steps between two evaluations")
    recipe: dict[str, Any] = Field(
        {}, description="Other columns of a model catalogue: architecture, batch_size, ..."
    )
    selection: SomeUnique[Rule] = Field(
        (SOURCE_VALIDATION, ORACLE),
        description="How groups are selected; the first is that of the figures",
    )
    scores: ScoredSettings | None = Field(
        None,
        description="Whether accuracies on the targets of blocks are also predicted without "
        "labels, and by which scores; not by default",
    )
    figure_algorithm: str | None = Field(
        None, description="Algorithm whose gain is drawn for every target set; the first by default"
    )

    @model_validator(mode="after")
    def _something_to_train_on(self) -> "DomainGeneralizationSettings":
        if self.model_fields_set and not self.blocks and not self.leave_one_out:
            raise ValueError("give blocks or leave_one_out: they say what to train on")
        return self
