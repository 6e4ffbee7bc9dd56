"""Sequential and ModuleList as lists, ModuleDict as a dict, and those of parameters."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .scenario import Scenarios, refused

scenario = Scenarios()


@scenario
def sequential_as_a_list(nn: Any, library: Any) -> Any:
    relu, tanh, sigmoid = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    net = nn.Sequential(relu, tanh)
    seen = [repr(net), len(net), net[-1] is tanh, repr(net[:1]), [type(m).__name__ for m in net]]
    net.append(sigmoid).insert(1, nn.Identity())
    seen.append(repr(net))
    net.insert(-1, nn.GELU())
    seen.append(repr(net))
    seen.append([type(net.pop(0)).__name__, repr(net)])
    del net[0]
    seen.append(repr(net))
    del net[1:]
    seen.append(repr(net))
    net.extend([nn.ReLU(), nn.Tanh()])
    net += nn.Sequential(nn.ELU())
    seen.append(repr(net))
    both = net + nn.Sequential(nn.SiLU())
    seen += [repr(both), repr(nn.Sequential(relu) * 3), repr(2 * nn.Sequential(relu, tanh))]
    net *= 2
    net[0] = nn.Mish()
    seen += [repr(net), len(net), repr(net[1:3])]
    named = nn.Sequential(OrderedDict([("first", nn.ReLU()), ("second", nn.Tanh())]))
    seen += [repr(named), repr(named[1:]), type(named.second).__name__]
    named[0] = nn.SELU()
    seen.append(repr(named))
    bad = [
        refused(lambda: net[99]), refused(lambda: nn.Sequential(3)), refused(lambda: net + [relu]),
        refused(lambda: net * 0), refused(lambda: net * "a"), refused(lambda: net[-99]),
        refused(lambda: net.insert(99, relu)), refused(lambda: nn.Sequential(relu).pop(1)),
    ]  # fmt: skip
    return [*seen, bad, "0" in dir(net)]


@scenario
def module_list_as_a_list(nn: Any, library: Any) -> Any:
    net = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    seen = [repr(net), len(net), repr(net[1:]), type(net[-1]).__name__]
    net.append(nn.ELU())
    net.extend([nn.SiLU(), nn.SiLU()])
    net.insert(1, nn.GELU())
    seen.append(repr(net))
    net += [nn.Mish()]
    seen.append(repr(net + nn.ModuleList([nn.Tanh()])))
    del net[0], net[-2:]
    net[0] = nn.CELU()
    seen += [repr(net), type(net.pop(1)).__name__, repr(net), repr(nn.ModuleList())]
    bad = [refused(lambda: net[9]), refused(lambda: net.extend(3)), refused(lambda: net(1)),
           refused(lambda: net.append(3))]  # fmt: skip
    return [*seen, bad, nn.Linear in [type(m) for m in net], [type(m).__name__ for m in net]]


@scenario
def module_dict_as_a_dict(nn: Any, library: Any) -> Any:
    net = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    net["c"] = nn.ELU()
    net.update([("d", nn.SiLU()), ["e", nn.Mish()]])
    net.update(nn.ModuleDict({"a": nn.CELU()}))
    seen = [repr(net), len(net), "c" in net, "z" in net, list(net), list(net.keys())]
    seen += [[k for k, _ in net.items()], [type(m).__name__ for m in net.values()]]
    del net["b"]
    seen += [type(net.pop("a")).__name__, repr(net), type(net.c).__name__]
    bad = [refused(lambda: net["q"]), refused(lambda: net.update(3)),
           refused(lambda: net.update([(1, 2, 3)])),
           refused(lambda: net.__setitem__("keys", None))]  # fmt: skip
    net.clear()
    return [*seen, bad, len(net), repr(net)]


@scenario
def parameter_list_as_a_list(nn: Any, library: Any) -> Any:
    one = nn.Parameter(library.ones(2, 3))
    net = nn.ParameterList([one, library.zeros(1), "text"])
    net.append(library.ones(()))
    net += [library.ones(4)]
    net.extend(nn.ParameterList([library.ones(5)]))
    net[1] = library.ones(7)
    seen = [len(net), [n for n, _ in net.named_parameters()], net[0] is one, net[2]]
    seen += [tuple(net[-1].shape), len(net[1:3]), [tuple(p.shape) for p in net.parameters()]]
    bad = [refused(lambda: net[9]), refused(lambda: net.extend(3)), refused(lambda: net(1))]
    text = repr(net).replace("torch.", "").replace("tinytensor.", "")
    return [*seen, bad, text, type(net[1]).__name__]


@scenario
def parameter_dict_as_a_dict(nn: Any, library: Any) -> Any:
    net = nn.ParameterDict({"b": library.ones(2), "a": library.zeros(1)})
    net["c"] = nn.Parameter(library.ones(3))
    net.update(OrderedDict([("z", library.ones(1)), ("y", library.ones(1))]))
    net.update([("x", library.ones(1))])
    seen = [list(net), [n for n, _ in net.named_parameters()], len(net), "a" in net]
    seen += [tuple(net["c"].shape), net.get("q"), tuple(net.setdefault("w", library.ones(6)).shape)]
    seen += [net.popitem()[0], tuple(net.pop("z").shape), list(reversed(net)), list(net.keys())]
    more = net | nn.ParameterDict({"m": library.ones(1)})
    net |= nn.ParameterDict({"n": library.ones(1)})
    del net["a"]
    seen += [list(more), list(net), len(net.copy()), [tuple(v.shape) for v in net.values()]]
    bad = [
        refused(lambda: net.update(3)),
        refused(lambda: nn.ParameterDict([(3, library.ones(1))])),
    ]
    net.clear()
    return [*seen, bad, len(net)]


test_same_as_pytorch = scenario.test()
