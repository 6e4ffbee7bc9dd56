"""The functions of neural networks, under the names of torch.nn.functional."""
