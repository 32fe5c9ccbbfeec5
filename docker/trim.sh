#!/bin/sh
# trim.sh VENV [--last]: take out of a virtual environment what a running server never reads. With --last pip goes too,
# and what a start imports gets its bytecode: the file system is read-only later, so every start would compile it again.
set -eu
packages=$(echo "$1"/lib/python3*/site-packages)
find "$packages" \( -name tests -o -name test -o -name __pycache__ -o -name include \) -type d -prune -exec rm -rf {} +
find "$packages" \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.h' -o -name '*.a' \) \
    -type f -delete
# Debug symbols. Not of every package: libraries that a wheel brought in *.libs do not survive it.
strip --strip-unneeded "$packages"/uvloop/*.so "$packages"/sentencex/*.so
# The Python module contains the runtime; the library of the same size beside it is for C++ programs.
rm -rf "$packages"/onnxruntime/capi/libonnxruntime.so.* "$packages"/onnxruntime/transformers \
    "$packages"/onnxruntime/quantization "$packages"/onnxruntime/tools "$packages"/onnxruntime/datasets \
    "$packages"/numpy/f2py "$packages"/numpy/distutils
if [ "${2:-}" = --last ]; then
    "$1/bin/pip" uninstall -q -y setuptools pip
    rm -rf "$1/include" "$1"/bin/[Aa]ctivate*
    PYTHONDONTWRITEBYTECODE='' "$1/bin/python3" -c 'from server.files.parser_process import import_formats; import_formats()
import redis.asyncio, server.telemetry.otlp, server.api.mcp.exchange, server.cli.main, server.backends.onnx.backend, server.cli.serve'
fi
