"""What a study's pools and sampled datasets must mean, beyond what its schema says of each key."""

from pathlib import Path
from typing import TYPE_CHECKING

from matcheval.analyses.sampling.settings import PoolSettings, Strategy
from matcheval.errors import InputError
from matcheval.study.checks import check_known

if TYPE_CHECKING:
    from matcheval.study.study import Study


def check_sampling(study: "Study") -> None:
    """Check names, choices and files of pools and of what is sampled, before any job.

    Raises
    ------
    InputError
        Naming key and value of what is wrong.
    """
    for pool in study.pools.values():
        _check_pool(study, pool)
    for name in study.sampled:
        _check_sampled(study, name)


def _check_pool(study: "Study", pool: PoolSettings) -> None:
    field = f"pools.{pool.name}"
    sets = {"candidates": [pool.candidates], "original": [pool.original], "against": pool.against}
    for key, names in sets.items():
        for name in names:
            check_known(name, study.datasets, f"{field}.{key}", "dataset")
            if not study.datasets[name].has_images:
                raise InputError(
                    f"'{name}' has predictions only, no images",
                    file="configuration",
                    field=f"{field}.{key}",
                )
    if pool.candidates == pool.original:
        raise InputError(
            f"'{pool.original}' is pool and original at once", file="configuration", field=field
        )
    if pool.answers is not None and pool.simulate is not None:
        raise InputError(
            "answers are given and simulated at once",
            file="configuration",
            field=field,
            remedy="Leave out one of 'answers' and 'simulate'",
        )
    files = pool.own_files | ({"answers": pool.answers} if pool.answers else {})
    for key, path in files.items():
        if not Path(path).is_file():
            raise InputError(
                f"no such file: {path}", file="configuration", field=f"{field}.{key}"
            )  # fmt: skip


def _check_sampled(study: "Study", name: str) -> None:
    options, field = study.datasets[name].options, f"datasets.{name}"
    check_known(options["pool"], study.pools, f"{field}.pool", "pool")
    pool = study.pool_of(name)
    if name in pool.sets:
        raise InputError(
            f"'{name}' is sampled from a pool that it is part of",
            file="configuration",
            field=f"pools.{pool.name}",
        )
    needs = "keywords" if options["strategy"] == Strategy.KEYWORDS else "answers or simulate"
    has = pool.keywords is not None if needs == "keywords" else pool.has_answers
    if not has:
        raise InputError(
            f"strategy {options['strategy']} needs {needs} of pool '{pool.name}'",
            file="configuration",
            field=f"{field}.strategy",
        )
    if "start_from" in options:
        check_known(
            options["start_from"], dict.fromkeys(study.sampled), f"{field}.start_from", "set"
        )
        if options["start_from"] == name:
            raise InputError("starts from itself", file="configuration", field=field)
