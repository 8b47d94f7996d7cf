"""How Sphinx builds the site; `nox -s docs` runs it.

Nothing is fetched: fonts and scripts come with the theme, formulas are written in
Unicode, and links to other projects are plain ones.
"""

import os
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["MPLBACKEND"] = "Agg"

import reference  # noqa: E402

import vicinal  # noqa: E402

project = "vicinal"
author = "the vicinal developers"
release = version = vicinal.__version__
copyright = author  # noqa: A001

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py"]
# Names in docstrings stand in single backticks, as in scikit-learn's.
default_role = "literal"
# Links from one docstring to another must lead somewhere; other names need not.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(?!vicinal\.).*"),
    (r"py:.*", r"vicinal\._typing.*"),
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("vicinal",),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its page fetches a script
    "min_reported_time": 1000,  # how busy the machine was says nothing to a reader
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "plot_gallery": True,
    "run_stale_examples": False,
    "image_srcset": ["2x"],
}
# A fit of an example that could go on is no matter; any other warning is.
warnings.filterwarnings("ignore", category=FutureWarning)

html_theme = "pydata_sphinx_theme"
html_title = "vicinal"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
        "text": "vicinal",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "show_toc_level": 2,  # a class's methods, too
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "which-method": [], "benchmarks/index": []}


_PARAMETER = re.compile(r"^(\s*[\w*, ]+ : )(.*)$")
_TRAILING = re.compile(r"(?<=\w)_(?![\w`])")


def _escape(_app, _what, _name, _value, _options, lines):  # type: ignore[no-untyped-def]
    """Keep docutils from reading `n_features_in_` in a type as a link."""
    for k, line in enumerate(lines):
        if match := _PARAMETER.match(line):
            lines[k] = match[1] + _TRAILING.sub(r"\_", match[2])


_PROGRAM = re.compile(
    r"\]\((?P<up>(?:\.\./)*)\.\./examples(?:/(?P<name>plot_\w+)\.py)?\)"
)
_CODE = re.compile(r"\]\((?P<up>(?:\.\./)*)\.\./src/vicinal\)")
# Doctests of Markdown files want an empty line at their end; readers do not.
_LAST_LINE = re.compile(r"^(```python\n.*?)\n\n```$", re.MULTILINE | re.DOTALL)


def _to_built_pages(_app, _name, source):  # type: ignore[no-untyped-def]
    """Lead to the gallery and the reference where pages link to what they are made of.

    They are only in the site: in a checkout, programs and code are what there is.
    """
    source[0] = _LAST_LINE.sub(r"\1\n```", source[0])

    def page(match: re.Match[str]) -> str:
        return f"]({match['up']}gallery/{match['name'] or 'index'}.rst)"

    text = _PROGRAM.sub(page, source[0])
    source[0] = _CODE.sub(lambda match: f"]({match['up']}api/index.rst)", text)


def setup(app):  # type: ignore[no-untyped-def]
    """Write the pages of the reference, which are made of the code."""
    reference.write(HERE / "api")
    app.connect("source-read", _to_built_pages)
    app.connect("autodoc-process-docstring", _escape, priority=100)
