"""Numbers in paths."""

from starlette.convertors import IntegerConvertor


class BoundedInteger(IntegerConvertor):
    """Starlette's, for numbers that Python reads and stores keep: `int` refuses thousands of digits with an error that
    would be the server's. With more than 18 digits nothing is at the path."""

    regex = "[0-9]{1,18}"
