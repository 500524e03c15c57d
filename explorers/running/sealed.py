"""JSON that contains a digest of its content, so that damaged content is never used."""

import hashlib
import json
from typing import Any, NoReturn

from fencepost.model.language.errors import UsageError

SUM = "sum"


class BrokenSealError(ValueError):
    """Error for JSON that was changed after it was written."""


class DamagedError(UsageError):
    """Error for a missing or damaged file of a checkpoint. The message names the file."""


def checksum(data: Any) -> str:
    """Return the SHA-256 of data, which does not depend on how its JSON is formatted."""
    read_back = json.loads(json.dumps(data))
    return hashlib.sha256(json.dumps(read_back, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def seal(data: dict[str, Any]) -> bytes:
    return json.dumps({**data, SUM: checksum(data)}, allow_nan=False).encode()


def unseal(data: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in data.items() if name != SUM}
    if data.get(SUM) != checksum(rest):
        raise BrokenSealError("the digest does not match")
    return rest


def parse_object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BrokenSealError(str(error)) from error
    if not isinstance(found, dict):
        raise BrokenSealError("not an object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not valid JSON")


def read_sealed(text: bytes, where: object, number: int) -> dict[str, Any]:
    """Return a checkpoint's content; raise UsageError if its format differs, and DamagedError if it was modified."""
    try:
        found = parse_object(text)
        require_format(found, where, number)
        return unseal(found)
    except BrokenSealError:
        raise damaged(where) from None


def require_format(found: dict[str, Any], where: object, number: int) -> None:
    if found.get("format") != number:
        raise UsageError(
            f"{where}: this checkpoint file has format {str(found.get('format', 'none'))[:20]}, but this "
            f"version of Fencepost reads format {number}. Start again without `resume=True`, or continue with the "
            "version that wrote the checkpoint."
        )


def damaged(where: object) -> DamagedError:
    return DamagedError(f"{where}: this checkpoint file is missing or damaged. Start again without `resume=True`.")
