"""Interactive pages, each one HTML file that needs no network.

explore       the step-through page of a graph
attention     the page of every attention head, with its gradients
report        the page of a training run: curves and heat maps
html          builds a page from its body, data, styles and scripts
rooms         a graph as rooms, one for each module call
room_layout   the places of boxes and arrows in each room
pack          a graph packed into JSON and one block of numbers
assets/       styles and scripts
"""
