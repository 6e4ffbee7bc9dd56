"""The API reference, written from signatures and docstrings when the site is built.

Each page is a table's row below: a namespace whose `__all__` is public, and the modules of it that
the page shows. A public name that is on no page fails the build, as does a module that is gone.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from docstrings import as_markdown, prose
from symbols import ROOT, symbols


class Page(NamedTuple):
    """title; what it is about; namespace: [its modules, in the order of the page]"""

    title: str
    about: str
    sections: dict[str, list[str]]


OPS, NN = "tinytensor.ops", "nn"
PAGES = {
    "tensor": Page(
        "Tensor",
        "What a tensor is, and what it can do besides the ops.",
        {"tinytensor.tensor": ["tinytensor.tensor"]},
    ),
    "create": Page(
        "Making tensors",
        "Tensors of given numbers, of patterns, and of random numbers.",
        {f"tinytensor.{name}": [f"tinytensor.{name}"] for name in ("create", "ranges", "random")},
    ),
    "elementwise": Page(
        "Ops: one element at a time",
        "Arithmetic, functions, comparisons, activations.",
        {
            OPS: [
                "arithmetic", "power", "pointwise", "trigonometry", "erf", "rounding", "clamp",
                "compare", "bitwise", "activation", "rectifier",
            ]
        },
    ),
    "reductions": Page(
        "Ops: over a dimension",
        "Sums, norms, extremes, sorting, softmax.",
        {OPS: ["reduce", "variance", "minmax", "statistics", "scan", "sort", "softmax"]},
    ),
    "products": Page(
        "Ops: products",
        "Matrix products, einsum, distances, and `tinytensor.linalg`.",
        {
            OPS: ["linalg", "linear", "einsum", "distance", "solve"],
            "tinytensor.linalg": ["tinytensor.linalg"],
        },
    ),
    "shape": Page(
        "Ops: shape",
        "The same elements in another order or form.",
        {
            OPS: [
                "shape", "broadcast", "part", "join", "rearrange", "matrix", "pad", "convert",
            ]
        },
    ),
    "indexing": Page(
        "Ops: picked elements",
        "Reading and writing by index, by mask, by table.",
        {OPS: ["index", "gather", "scatter", "masked", "embedding", "count"]},
    ),
    "layers": Page(
        "Ops: layers",
        "Attention, norms, dropout, recurrence, convolution, pooling.",
        {
            OPS: [
                "attention", "layer_norm", "batch_norm", "dropout", "recurrent",
                "recurrent_sequence", "selective_scan", "convolution", "conv_transpose", "pooling",
                "adaptive_pooling", "columns", "resample",
            ]
        },
    ),
    "losses": Page(
        "Ops: losses",
        "What is minimised.",
        {OPS: ["loss", "cross_entropy", "distribution_loss", "margin_loss"]},
    ),
    "autograd": Page(
        "Autograd",
        "Gradients, modes, custom functions, transforms of functions, checks.",
        {
            "tinytensor.autograd": [],
            "tinytensor.autograd.functional": ["tinytensor.autograd.functional"],
            "tinytensor.func": [],
        },
    ),
    "nn-modules": Page(
        "nn: modules",
        "What a module is, and modules that hold others.",
        {NN: ["module", "parameter", "parameter_container", "container", "summary", "parallel"]},
    ),
    "nn-layers": Page(
        "nn: layers",
        "Linear layers, convolutions, norms, activations and their kin.",
        {
            NN: [
                "linear", "convolution", "norm", "dropout", "activation", "pooling", "padding",
                "resample",
            ]
        },
    ),
    "nn-transformers": Page(
        "nn: transformers",
        "Attention, positions, transformers, and generation with them.",
        {
            NN: [
                "attention", "attention_masks", "attention_capture", "position",
                "transformer_layers", "transformer", "seq2seq", "gpt", "bert", "generate",
                "sampling", "beam_search", "decoding", "decode_step", "kv_cache",
            ]
        },
    ),
    "nn-systems": Page(
        "nn: recurrent nets and other systems",
        "RNN, LSTM, GRU; residual nets, experts, Mamba, diffusion, graphs.",
        {
            NN: [
                "recurrent_base", "recurrent", "seq2seq_rnn", "residual", "experts", "mamba",
                "diffusion", "graph_conv",
            ]
        },
    ),
    "nn-losses": Page(
        "nn: losses", "The losses as modules.", {NN: ["loss", "pair_loss"]}
    ),
    "nn-tools": Page(
        "nn: init and utils",
        "First values of parameters; clipping, parametrisations, packed sequences.",
        {"nn.init": [], "nn.utils": []},
    ),
    "optim": Page(
        "Optimisers",
        "`tinytensor.optim` and `tinytensor.optim.lr_scheduler`.",
        {"tinytensor.optim": [], "tinytensor.optim.lr_scheduler": []},
    ),
    "data": Page(
        "Data, files, tokenizers",
        "Loading data, saving tensors, text to tokens, checkpointing.",
        {
            "tinytensor.utils.data": [],
            "tinytensor.utils.tokenizers": ["tinytensor.utils.tokenizers"],
            "tinytensor.utils.checkpoint": ["tinytensor.utils.checkpoint"],
            "tinytensor.serialize": ["tinytensor.serialize"],
        },
    ),
    "train": Page(
        "Trainer", "The training loop.", {"tinytensor.train": []}
    ),
    "graph": Page(
        "Graphs", "Pictures and pages.", {"tinytensor.graph": []}
    ),
    "distributions": Page(
        "Distributions", "Random variables with densities.", {"tinytensor.distributions": []}
    ),
    "speed": Page(
        "Kernels, threads, profiles",
        "What decides how fast ops run.",
        {
            "tinytensor.kernels": [],
            "tinytensor.allocator": ["tinytensor.allocator"],
            "tinytensor.profile": ["tinytensor.profile"],
        },
    ),
}  # fmt: skip


# ------------------------------------------------------------------------------------------
# What is public
# ------------------------------------------------------------------------------------------


def public_names(namespace: Any) -> list[str]:
    """`__all__`, or what the module defines without an underscore."""
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
    """The module that a function or class is written in."""
    return getattr(inspect.unwrap(value), "__module__", "") or ""


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
        for module in modules or found:
            full = module if module.startswith(namespace) else f"{namespace}.{module}"
            if full in found:
                yield namespace, full, found[full]
            elif modules and full not in sys.modules:
                raise LookupError(f"reference: {full} is on a page but is no module; mend PAGES")


def left_out() -> list[str]:
    """Public names of ops and nn whose module is on no page."""
    there: dict[str, set[str]] = {}
    for page in PAGES.values():
        for namespace, module, _ in shown(page):
            there.setdefault(namespace, set()).add(module)
    return [
        f"{module}: {', '.join(names)}"
        for namespace in (OPS, NN)
        for module, names in members(namespace).items()
        if module not in there[namespace]
    ]


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
    """`: Tensor`; nothing where anything goes."""
    if kind in (inspect.Parameter.empty, "Any", Any):
        return ""
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return before + name


def equation_of(name: str, module: str) -> str:
    """What the op of this name says of itself: y = …; dx = …"""
    from tinytensor.autograd import Op

    for value in vars(sys.modules[module]).values():
        if inspect.isclass(value) and issubclass(value, Op) and value.name_ == name:
            head = inspect.cleandoc(value.__doc__ or "").split("\n\n")[0]
            return f"```text\n{head}\n```\n" if " = " in head else ""
    return ""


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The documented methods and properties that a class itself has."""
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


def page_text(page: Page) -> str:
    sections = [section(*part) for part in shown(page)]
    return "\n\n".join([f"# {page.title}", page.about, *sections]) + "\n"


def index_text() -> str:
    """All pages, and below each the names that it has."""
    text = ["# Reference", "From the docstrings. An op's equations stand above its text."]
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

    missing = left_out()
    if missing:
        raise LookupError(f"reference: on no page: {'; '.join(missing)}; add to PAGES")
    texts = {"index": index_text(), **{key: page_text(page) for key, page in PAGES.items()}}
    for key, text in texts.items():
        files.append(File.generated(config, f"reference/{key}.md", content=text))
    return files
