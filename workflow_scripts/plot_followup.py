"""Rule plot_followup: the figure of a follow-up's table."""

from collections.abc import Sequence

from matcheval.analyses.kinds import KINDS
from matcheval.execution.entry_points import run_script
from matcheval.figures.saving import save_figures


def main(*, kind: str, table: str, outputs: Sequence[str]) -> None:
    """Draw the table to every output, by its suffix."""
    followup = KINDS[kind]
    if followup.draw is None:
        raise ValueError(f"'{kind}' has no figure")
    figure = followup.draw(followup.schema.read(table).to_pandas())
    save_figures(figure, outputs)


if __name__ == "__main__":
    run_script(
        main,
        snakemake.log[0],
        kind=snakemake.wildcards.followup,
        table=snakemake.input[0],
        outputs=list(snakemake.output),
    )
