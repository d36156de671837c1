"""A hook of MkDocs: the site's pages are documents of the repository, each at its own place.

So links work in the site as they do in the checkout, also to code: what a page links to is copied.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    *("*.md", "docs/**/*.md", "infra/adr/*.md", "services/*/README.md", "services/clients/*/README.md"),
    *("tests/orders/README.md", "tests/golden/README.md", "tests/golden/speak/README.md"),
)
LINK = re.compile(r'\]\(([^)\s#]+)[^)]*\)|(?:src|href)="([^"#]+)"')
LOADED = re.compile(
    r'<(?:script|img|iframe)\b[^>]*\bsrc="?(?:https?:)?//|<link\b(?![^>]*canonical)[^>]*href="?https?:'
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The theme's files, the pages, and the files that these link to."""
    pages = {page for pattern in PAGES for page in ROOT.glob(pattern)}
    linked = {
        (page.parent / target).resolve()
        for page in pages
        for found in LINK.findall(page.read_text())
        if ":" not in (target := "".join(found))
    }
    if missing := [str(path) for path in linked if not path.exists()]:
        raise PluginError(f"pages link to what isn't there: {missing}")
    theirs = [file for file in files if file.src_dir != config.docs_dir]
    ours = [
        File.generated(
            config, str(path.relative_to(ROOT)), abs_src_path=str(path), inclusion=InclusionLevel.INCLUDED
        )
        for path in sorted(pages | linked)
        if path.is_file()
    ]
    return Files([*theirs, *ours])


def on_post_page(output: str, page: object, **_: object) -> None:
    """Refuse a page that loads anything from elsewhere."""
    if found := LOADED.search(output):
        raise PluginError(f"{page}: loads from elsewhere: {found[0]}")
