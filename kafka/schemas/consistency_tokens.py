"""The draft of consistency tokens: headers, an error and a context; and what older peers make of headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.kafka.schemas.checks import decides, holds_if, not_built

if TYPE_CHECKING:
    from fencepost.kafka.schemas.checks import Check, Seen
    from fencepost.kafka.schemas.classes import Classes

HEADERS = ("RequestHeaderData", "ResponseHeaderData")
NEWER = 99
"""A version of ApiVersions that no release knows."""


def token_fields(kafka: Classes) -> list[str]:
    """Return the fields of headers that could carry a token."""
    found = [path for header in HEADERS for fields in kafka.fields(header).values() for path in fields]
    return [path for path in found if "consistency" in path or "token" in path or "metadata_offset" in path]


def headers_carry_nothing(kafka: Classes) -> Seen:
    """Neither header has a field for a token."""
    found = token_fields(kafka)
    return (
        not_built("neither header has a field for a token")
        if not found
        else holds_if(False, "", f"headers have {found}")
    )


def no_contexts(kafka: Classes) -> Seen:
    """No class of a context or of its store."""
    found = kafka.named("Consistency")
    return (
        not_built("no class is named after consistency")
        if not found
        else holds_if(False, "", f"there is {', '.join(found)}")
    )


@decides("SEED-TOKEN-8")
def stale_metadata(kafka: Classes) -> Seen:
    """No error for a server that is behind."""
    if not kafka.has("org.apache.kafka.common.protocol.Errors", "STALE_METADATA"):
        return not_built("Errors has no STALE_METADATA")
    return holds_if(False, "", "Errors has STALE_METADATA")


@decides("SEED-TOKEN-18")
def newer_api_versions(kafka: Classes) -> Seen:
    """Read the header of an ApiVersions request of a version that the release does not know, with an unknown tagged field."""
    read = kafka.header("API_VERSIONS", NEWER)
    what = f"the header of version {NEWER} of ApiVersions is read, in header version {read['version']}, with an unknown tagged field"
    return holds_if(read["correlation"] == 6 and read["unknown"] == 1, what, what)


@decides("SEED-TOKEN-19")
def unknown_tags_are_skipped(kafka: Classes) -> Seen:
    """Read a header with an unknown tagged field."""
    fetch, versions = kafka.header("FETCH", max(kafka.fields("FetchRequestData"))), kafka.header("API_VERSIONS", 3)
    what = (
        f"a header of version {fetch['version']} with an unknown tagged field is read, in the same header version; the answer to "
        f"ApiVersions has header version {versions['response']}, which has no room for one"
    )
    return holds_if(fetch["correlation"] == 6 and fetch["unknown"] == 1, what, what)


def _marked() -> None:
    """Mark the claims that need a field in a header, or the classes of a context."""
    needs: dict[str, Check] = dict.fromkeys(("7", "9", "10", "20"), headers_carry_nothing)
    needs |= dict.fromkeys(("35", "40", "41"), no_contexts)
    for number, check in needs.items():
        decides(f"SEED-TOKEN-{number}")(check)


_marked()
