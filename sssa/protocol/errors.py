"""The root of every error this program raises on purpose."""

from inspect import cleandoc


class ValidatorError(Exception):
    """The validator cannot continue with this."""

    def __init__(self, detail: str = "") -> None:
        """Join the class's one-line meaning (its docstring) with what happened this time."""
        meaning = cleandoc(self.__class__.__doc__ or "").splitlines()[0].rstrip(".")
        super().__init__(f"{meaning}: {detail}" if detail else meaning)
        self.detail = detail

    def __reduce__(self) -> tuple[type["ValidatorError"], tuple[str]]:
        """Cross processes by the detail, so that the meaning is not joined twice."""
        return self.__class__, (self.detail,)
