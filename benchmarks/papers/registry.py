"""The papers' tables and figures by name; each is a module of this package."""

from benchmarks.papers import (
    defaults_ranked,
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
    nca_n_init,
    nca_peer,
    nca_penalty,
    nca_small,
    nca_starts,
    thesis_figure_3_2,
    thesis_figure_3_3,
    thesis_figure_3_4,
    thesis_optimizers,
    thesis_rule,
    thesis_usps,
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
        nca_n_init,
        nca_penalty,
        nca_peer,
        thesis_figure_3_2,
        thesis_figure_3_3,
        thesis_figure_3_4,
        thesis_optimizers,
        thesis_rule,
        thesis_usps,
        lca_figure_1,
        lca_figure_3,
        lca_figure_4,
        lca_figure_5,
        lca_densities,
        ldg_table_1,
        ldg_figure_5,
        ldg_mnist,
        defaults_ranked,
    )
}
"""Every experiment, in the papers' order."""
