"""`trace`: the graph behind a tensor, as plain data.

    g = graph.trace(loss)
    for step in g.steps:
        print(g.nodes[step.node].name, step.gradient)

The nodes and steps are those of the engine: `trace` runs its backward walk without changing any
`.grad`. Values are complete if the forward ran under `record`, or is passed as a function.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from ...autograd import trace_backward
from ...autograd.op import Op
from ...autograd.outputs import Output
from ...autograd.site import site_of
from ...autograd.variable import Variable, edge_of
from ...autograd.walk import collect
from ...errors import GradientError
from .formula import argument_names, formula_of, name_argument, rule_for
from .graph import Graph, TracedContribution, TracedNode, TracedStep
from .live_nodes import NothingRetained, saved_values
from .module_tree import ModuleTree
from .record import Call, Constant, Failure, Notes, Recording, record
from .user_variables import frames_from, variable_name
from .values import MAX_VALUES, Value, value_of


def trace(
    source: Any,
    *,
    model: Any = None,
    backward: bool = True,
    gradient: Any = None,
    max_values: int | None = MAX_VALUES,
) -> Graph:
    """The graph of a loss.

    source      a tensor; a function without arguments that returns one, which is run under
                `record`; a Recording, for all of its ops; or a Graph, returned unchanged
    model       the nn.Module with the parameters' names; not needed if it has been called
    backward    also run the backward walk, for gradients and steps
    gradient    dL/dsource, for a tensor that is not a scalar
    max_values  keep arrays of up to this many elements (None: all), statistics of larger ones
    """
    if isinstance(source, Graph):
        return source
    caller = sys._getframe(1)
    if callable(source) and not isinstance(source, Variable):
        with record(max_values):
            source = source()
    if not isinstance(source, (Variable, Recording)):
        raise TypeError(
            f"trace: got {type(source).__name__}, expected a tensor, a function that returns one, "
            "or a Recording"
        )
    builder = _Builder(max_values, model, caller)
    if isinstance(source, Recording):
        builder.add_recording(source)
    else:
        builder.add_tensor(source)
        if backward:
            builder.walk(source, gradient)
    return builder.finish()


class _Builder:
    """Builds a Graph: first the nodes, then the walk, then names and modules."""

    def __init__(self, max_values: int | None, model: Any, caller: FrameType):
        self.max_values, self.model, self.caller = max_values, model, caller
        self.graph = Graph()
        self.ids: dict[Any, int] = {}  # by engine node, leaf or Constant
        self.notes: dict[int, Notes] = {}  # of all recordings of the nodes, by id
        self.outputs: dict[Op, list[Output]] = {}  # of ops with several outputs, oldest first
        self.outside: set[int] = set()  # constants with a name outside of all modules

    # --------------------------------------------------------------------------------------
    # Nodes
    # --------------------------------------------------------------------------------------

    def add_tensor(self, loss: Variable) -> None:
        """Add every node that a tensor depends on."""
        edge = edge_of(loss)
        if edge is None:
            raise GradientError(
                f"trace: the tensor of shape {tuple(loss._shape)} does not require grad and has no "
                "grad_fn; set requires_grad=True on what it is computed from, outside no_grad()"
            )
        self._add_all(collect([edge]))
        self.graph.loss = self.ids[edge]
        node = self._node_of(edge)
        node.value = value_of(loss.array, self.max_values)
        if node.kind == "op" and not node.variable:
            node.variable, _ = variable_name(loss.array, frames_from(self.caller))

    def add_recording(self, recording: Recording) -> None:
        """Add all nodes made in a block, and the op that failed there."""
        failed = recording.failure
        roots: list[Any] = list(recording.nodes)
        if failed is not None:
            roots += [edge for edge in failed.edges if edge is not None]
        self._add_all(collect(roots))
        if failed is not None:
            self._add_failed(failed)
        if self.graph.nodes:
            self.graph.loss = len(self.graph.nodes) - 1

    def _add_all(self, found: Iterable[Any]) -> None:
        ops = [node for node in found if node._order > 0]
        saved = saved_values(ops)
        for op in ops:
            if not isinstance(op, Output):
                call = getattr(op, "recorded", None)
                self._add_op(op, type(op), op._edges, call, saved)
            else:
                self._add_output(op, saved)
        if not ops:  # the loss is a leaf itself
            for leaf in found:
                self._leaf(leaf)

    def _add_op(
        self, op: Any, cls: type, edges: list, call: Call | None, saved: dict[Any, Any]
    ) -> TracedNode:
        """Add an op, after the leaves and constants that it uses."""
        names = argument_names(cls)
        constants: dict[int, Any] = dict(call.constants) if call else {}
        if call is not None:
            self.notes[id(call.notes)] = call.notes
        else:
            constants = saved.get((op, "constants"), {})
        inputs: list[int | None] = []
        for i, edge in enumerate(edges):
            if edge is not None:
                inputs.append(self.ids[edge] if edge in self.ids else self._leaf(edge))
            elif i in constants:
                inputs.append(self._constant(constants[i]))
            else:
                inputs.append(None)
        several = isinstance(getattr(op, "_shape", None), list)
        node = self._new("op", getattr(cls, "op_name", ""), key=op)
        node.op, node.inputs = getattr(cls, "function", cls).__name__, inputs
        node.module, node.source = getattr(op, "scope", ""), site_of(op)
        node.argument_names = [name_argument(names, i) for i in range(len(inputs))]
        node.formula = formula_of(cls)
        if call is not None:
            node.arguments = call.arguments
            node.variable = call.variables.get(0, "") if not several else ""
        if hasattr(op, "_shape"):
            node.shape = tuple((op._shape[0] if several else op._shape) or ())
            node.dtype = str(op._dtype[0] if several else op._dtype)
        if not several:
            node.value = self._value(_recorded(call, 0), saved.get(op))
        return node

    def _add_output(self, output: Output, saved: dict[Any, Any]) -> None:
        """Add one of several outputs of an op."""
        parent = output.parent
        self.outputs.setdefault(parent, []).append(output)
        node = self._new("op", f"{parent.op_name}[{output.index}]", key=output)
        node.op, node.inputs, node.argument_names = "Output", [self.ids[parent]], ["outputs"]
        node.module, node.source = output.scope, site_of(output)
        node.shape, node.dtype = tuple(output._shape), str(output._dtype)
        call = getattr(parent, "recorded", None)
        node.variable = call.variables.get(output.index, "") if call is not None else ""
        node.value = self._value(_recorded(call, output.index), saved.get(output))

    def _add_failed(self, failure: Failure) -> None:
        """Add the op whose forward raised."""
        node = self._add_op(failure, failure.op, failure.edges, failure.call, {})
        node.name, node.failed = failure.name, True
        node.source = failure.source
        node.argument_names = failure.argument_names or node.argument_names
        self.graph.error = failure.message

    def _leaf(self, leaf: Any) -> int:
        node = self._new("leaf", "", key=leaf)
        node.shape, node.dtype = tuple(leaf.array.shape), str(leaf.array.dtype)
        for notes in self.notes.values():
            if id(leaf) in notes.leaves:
                _, node.name, value = notes.leaves[id(leaf)]
                node.value = self._value(value)
        if node.value is None:
            node.value = value_of(leaf.array, self.max_values)
        if type(leaf).__name__ == "Parameter":
            node.kind = "parameter"
        elif not node.name:
            node.name, _ = variable_name(leaf.array, frames_from(self.caller))
        return node.id

    def _constant(self, constant: Any) -> int:
        """Add a recorded Constant, or an array that an op saved."""
        key = constant if isinstance(constant, Constant) else id(constant)
        if key in self.ids:
            return self.ids[key]
        node = self._new("constant", "", key=key)
        if isinstance(constant, Constant):
            node.name, node.value = constant.name, self._value(constant.value)
            if constant.outside:
                self.outside.add(node.id)
        else:
            node.name, outside = variable_name(constant, frames_from(self.caller))
            node.value = value_of(constant, self.max_values)
            if outside:
                self.outside.add(node.id)
        assert node.value is not None
        node.shape, node.dtype = node.value.shape, node.value.dtype
        return node.id

    def _new(self, kind: str, name: str, key: Any) -> TracedNode:
        node = TracedNode(len(self.graph.nodes), kind, name)
        self.graph.nodes.append(node)
        self.ids[key] = node.id
        return node

    def _node_of(self, key: Any) -> TracedNode:
        return self.graph.nodes[self.ids[key]]

    def _value(self, *known: Any) -> Value | None:
        """The Value of the first argument that is not None."""
        found = next((value for value in known if value is not None), None)
        return None if found is None else value_of(found, self.max_values)

    # --------------------------------------------------------------------------------------
    # The backward walk
    # --------------------------------------------------------------------------------------

    def walk(self, loss: Any, gradient: Any) -> None:
        """Add the steps of loss.backward() and the gradient of each node."""
        freed = [k for k in self.ids if isinstance(k, Op) and k._saved is None]
        if freed:
            raise GradientError(
                f"trace: backward() has freed the values that {freed[0].op_name} needs; trace "
                "before it, call it with retain_graph=True, or trace with backward=False"
            )
        self.graph.steps = []
        gathered: dict[Any, Value] = {}
        with NothingRetained(self.ids):
            for step in trace_backward(loss, gradient, accumulate=False):
                self._add_step(step, gathered)

    def _add_step(self, step: Any, gathered: dict[Any, Value]) -> None:
        """Add one step of the engine. `gathered`: the sums so far, each converted once."""
        assert self.graph.steps is not None
        node = self._node_of(step.node)
        made = TracedStep(node.id)
        if isinstance(step.gradient, list):
            made.slots = self._slots(step, gathered)
        else:
            known = None if getattr(step.node, "_hooks", None) else gathered.get(step.node)
            made.gradient = node.grad = known or value_of(step.gradient.array, self.max_values)
        position = -1
        for c in step.contributions:
            if c.target is step.node:
                break  # a leaf, which has no inputs
            edges = step.node._edges
            position = next(i for i in range(position + 1, len(edges)) if edges[i] is c.target)
            value = value_of(c.value.array, self.max_values)
            before = gathered.get(c.target)
            after = value if before is None else value_of(c.after.array, self.max_values)
            gathered[c.target] = after
            rule = rule_for(node.formula, node.argument_names[position]) if node.formula else ""
            passed = TracedContribution(position, self.ids[c.target], rule, value, before, after)
            made.contributions.append(passed)
        self.graph.steps.append(made)

    def _slots(self, step: Any, gathered: dict[Any, Value]) -> list[Value | None]:
        """Add a step for each output, which passes its gradient to the slot of its op."""
        assert self.graph.steps is not None
        slots: list[Value | None] = [None] * len(step.gradient)
        parent = self.ids[step.node]
        for output in reversed(self.outputs[step.node]):  # in the order of the walk: newest first
            if output not in gathered:
                continue
            g = value_of(step.gradient[output.index].array, self.max_values)
            node = self._node_of(output)
            node.grad = slots[output.index] = g
            passed = TracedContribution(0, parent, f"slot {output.index} = g", g, None, g)
            self.graph.steps.append(TracedStep(node.id, g, [passed]))
        return slots

    # --------------------------------------------------------------------------------------
    # Names and modules
    # --------------------------------------------------------------------------------------

    def finish(self) -> Graph:
        """Name parameters, assign leaves and constants to modules, build the tree of modules."""
        graph = self.graph
        tree = ModuleTree(graph, self.notes.values(), self.model)
        leaves = {i: key for key, i in self.ids.items() if isinstance(key, Variable)}
        consumers = graph.consumers()
        unnamed = 0
        for node in graph.nodes:
            if node.kind == "op":
                continue
            leaf = leaves.get(node.id)
            name, owner = tree.parameter(leaf) if leaf is not None else ("", "")
            if name:
                node.kind, node.name = "parameter", name
            users = [graph.nodes[i].module for i in consumers[node.id]]
            if owner:
                node.module = owner
            elif node.kind != "leaf" and node.id not in self.outside:
                node.module = tree.common(users)
            if not node.name and node.kind == "parameter":
                node.name = f"weight {node.shape}"
            elif not node.name and node.kind == "leaf":
                unnamed += 1
                node.name = f"x{unnamed}"
            elif not node.name and consumers[node.id]:  # a constant: the name of the argument
                user = graph.nodes[consumers[node.id][0]]
                node.name = user.argument_names[user.inputs.index(node.id)]
        graph.modules = tree.infos()
        return graph


def _recorded(call: Call | None, i: int) -> Any:
    """The recorded value of output i, or None."""
    return call.outputs[i] if call is not None and i < len(call.outputs) else None
