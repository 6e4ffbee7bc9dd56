"""Makes a page of each project file that a page links to, and rewrites the links.

Links are written as they work in the repository, `[walk](../tinytensor/autograd/walk.py#collect)`;
the anchor is a class, function or method. A missing file or anchor fails the build.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

from excerpts import on_page_markdown as with_excerpts
from symbols import ROOT, lines_of

SOURCE = "source"  # the folder of these pages in the site
ALWAYS = ("README.md", "CONTRIBUTING.md", "examples/README.md")  # listed in the nav
LINK = re.compile(r"(\]\(|\b(?:src|href)=\")([^)\s\"]+)")
LANGUAGES = {".py": "python", ".cfg": "ini", ".toml": "toml", ".js": "javascript", ".css": "css"}


def repository_path(uri: str) -> str:
    """The path in the repository of a page of the site."""
    if not uri.startswith(f"{SOURCE}/"):
        return f"docs/{uri}"
    path = uri.removeprefix(f"{SOURCE}/")
    return path if (ROOT / path).exists() else path.removesuffix(".md")


def site_uri(path: str) -> str:
    """The path among the sources of the site of a file of the repository."""
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
        return re.sub(r"\.ipynb$", ".md", inside)  # notebooks.py makes these pages
    return f"{SOURCE}/{path}" if path.endswith(".md") else f"{SOURCE}/{path}.md"


def is_outside(target: str) -> bool:
    """Whether a link is a full address, or an anchor on the page itself."""
    return target.startswith(("#", "/")) or re.match(r"[a-z]+:", target) is not None


def resolve(target: str, page_path: str) -> str:
    """The file of the repository that a link of a page leads to, without its anchor."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page_path), target.split("#")[0]))


def rewrite(markdown: str, uri: str) -> str:
    """A page with its links rewritten for the site."""
    page_path = repository_path(uri)

    def mend(found: re.Match) -> str:
        before, target = found.groups()
        if is_outside(target):
            return found[0]
        path, _, anchor = target.partition("#")
        path = resolve(path, page_path)
        if anchor and path.endswith(".py"):
            anchor = f"__codelineno-0-{lines_of(path, anchor)[0]}"
        to = posixpath.relpath(site_uri(path), posixpath.dirname(uri) or ".")
        return before + to + (f"#{anchor}" if anchor else "")

    return LINK.sub(mend, markdown)


def linked_files(markdown: str, uri: str) -> set[str]:
    """The files outside docs/ that a page links to."""
    targets = [target for _, target in LINK.findall(markdown) if not is_outside(target)]
    paths = {resolve(target, repository_path(uri)) for target in targets}
    return {path for path in paths if not path.startswith("docs/") and (ROOT / path).is_file()}


def file_page(path: str) -> str:
    """The Markdown of the page that shows a file."""
    text = (ROOT / path).read_text("utf-8")
    if path.endswith(".md"):
        return text
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    head = "---\nsearch:\n  exclude: true\n---\n"
    return f'{head}# {path}\n\n````{language} linenums="1"\n{text}\n````\n'


def on_files(files: Any, config: Any) -> Any:
    """MkDocs calls this with all files; add those that they link to, directly or indirectly."""
    from mkdocs.structure.files import File, InclusionLevel

    pages = [(f.src_uri, f.content_string) for f in files if f.is_documentation_page()]
    waiting = set(ALWAYS).union(*(linked_files(with_excerpts(text), uri) for uri, text in pages))
    done: set[str] = set()
    while waiting:
        path = waiting.pop()
        done.add(path)
        uri, text = site_uri(path), file_page(path)
        level = InclusionLevel.UNDEFINED if path in ALWAYS else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, uri, content=text, inclusion=level))
        if path.endswith(".md"):
            waiting |= linked_files(text, uri) - done
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs calls this with each page, after `excerpts`."""
    uri = page.file.src_uri
    shows_code = uri.startswith(f"{SOURCE}/") and not repository_path(uri).endswith(".md")
    return markdown if shows_code else rewrite(markdown, uri)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Tell MkDocs, which checks links, about the anchors of code lines, which it does not see."""
    page.present_anchor_ids |= set(re.findall(r'id="(__codelineno-0-\d+)"', content))
    return content
