"""How the documentation is built: ``sphinx-build -W --keep-going -n docs build/docs``."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import gbmap

project = "gbmap"
author = "The gbmap developers"
project_copyright = author
version = release = gbmap.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "mathml",
    "myst_parser",
    "numpydoc",
    "own_members",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery"]
templates_path = ["_templates"]
nitpicky = True
default_role = "literal"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Formulas become MathML while the pages are built, so that a page needs nothing from elsewhere to show them.
html_math_renderer = "mathml"

plot_formats = [("png", 160)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_rcparams = {"font.size": 11, "axes.spines.top": False, "axes.spines.right": False}
plot_apply_rcparams = True

# The examples below gallery/paper read the paper's data. Without a folder of them they are shown, not run.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"/plot_" if os.environ.get("GBMAP_DATA") else r"gallery/(recipes/)?plot_",
    "within_subsection_order": "ExampleTitleSortKey",
    "backreferences_dir": "generated/backreferences",
    "capture_repr": ("_repr_html_",),
    "doc_module": ("gbmap",),
    "download_all_examples": False,
    "min_reported_time": 3,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "gbmap"
html_static_path = ["_static"]
html_css_files = ["gbmap.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "gbmap"},
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "install", "generated/gallery/plot_start")}
