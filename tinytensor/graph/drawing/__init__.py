"""Still pictures of graphs and arrays.

dot                 a graph as text in the DOT language
collapse            chooses which modules are open, closed or left out
labels              the text on boxes, small matrices
graphviz            lays out DOT text, by the `dot` program or pygraphviz
attention_picture   attention weights as SVG, and as text for a terminal
depth               gradients of plain versus residual networks
palette             colours
"""
