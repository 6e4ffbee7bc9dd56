"""Writes the API reference from signatures and docstrings when the site is built.

reference_pages.py lists the modules of each page; a missing module fails the build.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from docstrings import as_markdown, prose
from reference_pages import NN, OPS, PAGES, REST, Page
from symbols import ROOT, symbols

# ------------------------------------------------------------------------------------------
# What is public
# ------------------------------------------------------------------------------------------


def public_names(namespace: Any) -> list[str]:
    """`__all__`, or the functions and classes that the module defines without an underscore."""
    listed = getattr(namespace, "__all__", None)
    if listed is not None:
        return list(listed)
    own = [
        name
        for name, value in vars(namespace).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == namespace.__name__
    ]
    return [name for name in own if callable(getattr(namespace, name))]


def home(value: Any) -> str:
    """The module that defines a function or class."""
    return getattr(inspect.unwrap(value), "__module__", "") or ""


@functools.cache
def members(namespace_name: str) -> dict[str, dict[str, Any]]:
    """{module: {name: function or class}}, other names left out, synonyms joined by commas."""
    namespace = importlib.import_module(namespace_name)
    names: dict[int, list[str]] = {}
    values: dict[int, Any] = {}
    for name in public_names(namespace):
        value = getattr(namespace, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            names.setdefault(id(value), []).append(name)
            values[id(value)] = value
    found: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        found.setdefault(home(value), {})[", ".join(names[key])] = value
    return found


def shown(page: Page) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(namespace, module, {name: value}) for each section of a page."""
    for namespace, modules in page.sections.items():
        found = members(namespace)
        for module in _modules_of(namespace, modules, list(found)):
            if module in found:
                yield namespace, module, found[module]
            elif module not in sys.modules:
                raise LookupError(f"reference: {module} is in PAGES but not a module; correct it")


def _modules_of(namespace: str, listed: list[str], there: list[str]) -> list[str]:
    """Full names of the modules of a section; REST stands for those on no other page."""
    if not listed:
        return there
    ours = ("tinytensor.", "nn.")
    full = [name if name.startswith(ours) else f"{namespace}.{name}" for name in listed]
    if listed[-1] != REST:
        return full
    elsewhere = {
        name if name.startswith(ours) else f"{namespace}.{name}"
        for page in PAGES.values()
        for name in page.sections.get(namespace, [])
    }
    return full[:-1] + [name for name in there if name not in elsewhere]


# ------------------------------------------------------------------------------------------
# Pages
# ------------------------------------------------------------------------------------------


def signature(name: str, value: Any) -> str:
    """The call as it is written, one line or one argument to a line."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    parts = []
    starred = False
    for parameter in found.parameters.values():
        if parameter.name == "self" or parameter.name.startswith("_"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parts.append(argument(parameter))
    gives = "" if inspect.isclass(value) else annotation(found.return_annotation, " -> ")
    line = f"{name}({', '.join(parts)}){gives}"
    if len(line) <= 88:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){gives}"])


def argument(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name + annotation(parameter.annotation, ": ")
    if parameter.default is parameter.empty:
        return text
    default = getattr(parameter.default, "__name__", None) or repr(parameter.default)
    default = re.sub(r"<(.*?) at 0x\w+>", r"<\1>", default)
    return f"{text} = {default}" if ": " in text else f"{text}={default}"


def annotation(kind: Any, before: str) -> str:
    """`: Tensor`; empty for Any or no annotation."""
    if kind in (inspect.Parameter.empty, "Any", Any):
        return ""
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return before + name


def equation_of(name: str, module: str) -> str:
    """The equations of the op of this name: y = …; dx = …"""
    from tinytensor.autograd import Op

    for value in vars(sys.modules[module]).values():
        if inspect.isclass(value) and issubclass(value, Op) and value.op_name == name:
            head = inspect.cleandoc(value.__doc__ or "").split("\n\n")[0]
            return f"```text\n{head}\n```\n" if " = " in head else ""
    return ""


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The documented methods and properties that a class itself defines."""
    for name, value in vars(cls).items():
        if name.startswith("_") or name == "extra_repr":
            continue
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        plain = plain.fget if isinstance(plain, property) else plain
        if inspect.isfunction(plain) and plain.__doc__:
            yield name, plain


def entry(names: str, value: Any, module: str) -> str:
    """One function or class: heading, signature, equation, text, methods."""
    name = names.split(", ")[0]
    source = module.replace(".", "/") + ".py"
    plain = inspect.unwrap(value)
    text = [f"#### {prose(names)} {{#{name}}}"]
    text.append(f"```python\n{signature(name, value)}\n```")
    text.append(equation_of(name, module))
    text.append(as_markdown(inspect.cleandoc(plain.__dict__.get("__doc__") or plain.__doc__ or "")))
    if inspect.isclass(value):
        for method, function in methods(value):
            call = signature(method, function)
            text.append(f"```python\n.{call}\n```")
            text.append(as_markdown(inspect.cleandoc(function.__doc__ or "")))
    if (ROOT / source).exists() and plain.__name__ in symbols(source):
        text.append(f"[source](../../{source}#{plain.__name__}){{.source}}")
    return "\n\n".join(part for part in text if part)


def section(namespace: str, module: str, found: dict[str, Any]) -> str:
    """The names of one module, below the first lines of its docstring."""
    about = inspect.cleandoc(sys.modules[module].__doc__ or "").split("\n\n")[0]
    path = module.replace(".", "/")
    path += ".py" if (ROOT / f"{path}.py").exists() else "/__init__.py"
    title = module.removeprefix(f"{namespace}.") if namespace in (OPS, NN) else module
    link = f"[`{path}`](../../{path}){{.source}}"
    entries = [entry(name, value, module) for name, value in found.items()]
    return "\n\n".join([f"## {prose(title)}", link, as_markdown(about), *entries])


def op_methods() -> str:
    """The methods of Tensor that are ops, with links to the ops."""
    from tinytensor.methods import Methods

    pages = {
        name: key
        for key, page in PAGES.items()
        if OPS in page.sections
        for _, _, found in shown(page)
        for name in found
    }
    links = [
        f"[{prose(name)}]({pages[name]}.md#{name})"
        for name, value in sorted(vars(Methods).items())
        if name in pages and inspect.isfunction(value)
    ]
    text = "A method does the same as the function of that name. `x.exp_()` writes into `x`."
    return f"## Methods that are ops\n\n{text}\n\n{' · '.join(links)}"


def page_text(page: Page) -> str:
    sections = [section(*part) for part in shown(page)]
    if page is PAGES["tensor"]:
        sections.append(op_methods())
    return "\n\n".join([f"# {page.title}", page.about, *sections]) + "\n"


def index_text() -> str:
    """All pages, each with its names."""
    text = ["# Reference", "Generated from the docstrings. An op's equations are above its text."]
    for key, page in PAGES.items():
        names = [
            n for _, _, found in shown(page) for joined in found for n in joined.split(", ")[:1]
        ]
        links = " · ".join(f"[{prose(name)}]({key}.md#{name})" for name in names)
        text.append(f"## [{page.title}]({key}.md)\n\n{page.about}\n\n{links}")
    return "\n\n".join(text) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """MkDocs calls this with all files."""
    from mkdocs.structure.files import File

    texts = {"index": index_text(), **{key: page_text(page) for key, page in PAGES.items()}}
    for key, text in texts.items():
        files.append(File.generated(config, f"reference/{key}.md", content=text))
    return files
