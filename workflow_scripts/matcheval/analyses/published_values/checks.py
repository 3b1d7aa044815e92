"""What a study's published values must mean: each names a table that the study makes."""

from typing import TYPE_CHECKING

from matcheval.analyses.published_values.values import read_published
from matcheval.errors import InputError, meant

if TYPE_CHECKING:
    from matcheval.study.study import Study

_CHECKED = ("followups/", "replication/")  # other tables Snakemake itself finds missing


def check_published(study: "Study") -> None:
    """Read the published values, if any, and check their tables, before any job.

    Raises
    ------
    InputError
        If the file is not as said, or naming line and table of the first one not made.
    """
    if not study.replication.published:
        return
    made = _made(study)
    for value in read_published(study.replication.published, study.name):
        if value.table.startswith(_CHECKED) and value.table not in made:
            raise InputError(
                f"the study makes no table '{value.table}'",
                file=value.place,
                field="table",
                remedy=meant(value.table, made),
            )


def _made(study: "Study") -> list[str]:
    """Tables of replications and follow-ups, as paths below the study's folder."""
    follow, tops = study.followups, study.replication.top
    stems = [f"replication/{pair}/top{top}" for pair in study.pairs for top in tops]
    fitted = [f"{s}{part}" for s in stems for part in (".fits", ".region") if study.fitted_scales]
    searched = [f"near_duplicates/{s.dataset}-in-{s.reference}" for s in follow.searches]
    on_sets = [f"{kind}/{name}" for kind, sets in follow.on_datasets.items() for name in sets]
    others = [
        *(f"people/{pair}" for pair in follow.people),
        *(f"revisions/{name}" for name in follow.revisions),
        *(
            f"difficulty/{pair}-top{top}{part}"
            for pair in follow.difficulty
            for top in tops
            for part in ("", ".skills")
        ),
    ]
    return [
        "replication/changes",
        *stems,
        *fitted,
        *(f"followups/{path}" for path in (*on_sets, *searched, *others)),
    ]
