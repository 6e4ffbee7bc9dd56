"""The graph as plain data, from which every picture and page is drawn.

graph            Graph, TracedNode, TracedStep: dataclasses, saved as JSON
record           a block in which every op's values are kept
trace            the Graph of a tensor or a recording
live_nodes       the engine's nodes behind a traced graph
user_variables   names that tensors have in the user's code
parameter_names  names of parameters and buffers, from the modules that own them
module_tree      the modules of a graph
values           a small array in full, a large one as statistics
formula          an op's equations, read from its docstring
wrong_order      the backward walk in a naive order, and its wrong gradients
attention_maps   queries, keys, weights and gradients of every attention head
"""
