"""Check that no modules import each other in a cycle, imports for type checking included."""

import sys

import grimp
import networkx as nx


def circles() -> list[list[str]]:
    """Return the groups of modules that import each other."""
    modules = grimp.build_graph("fencepost")
    imports = nx.DiGraph(
        [(name, other) for name in modules.modules for other in modules.find_modules_directly_imported_by(name)]
    )
    return [sorted(group) for group in nx.strongly_connected_components(imports) if len(group) > 1]


if __name__ == "__main__":
    found = circles()
    sys.stderr.write("".join(f"a circle: {', '.join(group)}\n" for group in found))
    sys.exit(bool(found))
