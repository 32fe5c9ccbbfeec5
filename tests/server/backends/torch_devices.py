"""The devices on which tests of the torch backend run: the CPU, and a GPU where there is one."""

import torch

DEVICES = ["cpu", *(["cuda:0"] if torch.cuda.is_available() else [])]
