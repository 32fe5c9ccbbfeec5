"""The backend of PyTorch: TorchScript graphs on the CPU or on a device, whose memory rings never leave."""
