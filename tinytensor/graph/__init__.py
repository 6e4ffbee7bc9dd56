"""Pictures of computation graphs, of attention and of training."""
