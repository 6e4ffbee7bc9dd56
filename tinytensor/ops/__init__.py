"""Every op, by family; see CONTRIBUTING.md for how to add one."""

from .activation import *
from .arithmetic import *
from .attention import *
from .compare import *
from .convert import *
from .dropout import *
from .einsum import *
from .embedding import *
from .gather import *
from .index import *
from .join import *
from .linalg import *
from .linear import *
from .loss import *
from .matrix import *
from .minmax import *
from .norm import *
from .pointwise import *
from .reduce import *
from .scan import *
from .shape import *
from .softmax import *
from .sort import *
