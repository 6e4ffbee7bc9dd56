"""Datasets and batches, with the names of torch.utils.data.

dataset.py  datasets: samples by index, or as a stream
sampler.py  samplers: the order of the samples
distributed.py  DistributedSampler: the samples of one of several processes
collate.py  combine samples into a batch
loader.py   DataLoader
workers.py  threads that prefetch batches
"""

from .collate import default_collate, default_convert, pad_collate
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .loader import DataLoader
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .workers import get_worker_info

# fmt: off
__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler",
    "IterableDataset", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
    "default_convert", "get_worker_info", "pad_collate", "random_split",
]
# fmt: on
