"""The papers' tables and figures, one module each; `EXPERIMENTS` has them by name."""

from benchmarks.papers import (
    lca_densities,
    lca_figure_1,
    lca_figure_3,
    lca_figure_4,
    lca_figure_5,
    ldg_figure_5,
    ldg_mnist,
    ldg_table_1,
    nca_f_against_g,
    nca_figure_1,
    nca_figure_2,
    nca_figure_3,
    nca_peer,
    nca_small,
    nca_starts,
    thesis_figure_3_2,
    thesis_figure_3_3,
    thesis_figure_3_4,
    thesis_optimizers,
)

EXPERIMENTS = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        nca_figure_1,
        nca_figure_2,
        nca_figure_3,
        nca_f_against_g,
        nca_small,
        nca_starts,
        nca_peer,
        thesis_figure_3_2,
        thesis_figure_3_3,
        thesis_figure_3_4,
        thesis_optimizers,
        lca_figure_1,
        lca_figure_3,
        lca_figure_4,
        lca_figure_5,
        lca_densities,
        ldg_table_1,
        ldg_figure_5,
        ldg_mnist,
    )
}
"""Every experiment, in the papers' order."""
