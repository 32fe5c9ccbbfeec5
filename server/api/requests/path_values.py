"""Numbers in paths."""

from starlette.convertors import IntegerConvertor


class BoundedInteger(IntegerConvertor):
    """Starlette's converter for numbers of up to 18 digits, which stores can keep; paths with longer numbers are not
    found. (`int` raises ValueError for thousands of digits.)"""

    regex = "[0-9]{1,18}"
