"""Kernels that do not depend on the model: checks, hashing, ordering by owner, insertion.

This text is copied into every generated module, where Numba compiles it with WORDS, OWNERS and the rest as constants.
It is never imported for itself: what a bare name such as WORDS means is decided by the module it is copied into.
"""

# ruff: noqa: F821 (see above)
# mypy: ignore-errors

INDEX, VALUE, SHIFT, FULL, ABSENT, NUMBER = 1, 2, 3, 4, 5, 6
BITS = 62


@helper
def _at(_e, index, length):
    """Return `index` if it is inside an array of `length`, else note the error and return 0."""
    if 0 <= index < length:
        return index
    _e[0] = INDEX
    return 0


@helper
def _put(_e, value, slot):
    """Return `value` if it is inside the domain whose bounds start at `slot`, else note the error."""
    if value < _e[slot] or value > _e[slot + 1]:
        _e[0] = VALUE
    return value


@helper
def _bit(_e, count):
    """Return `1 << count` if it fits a number, else note the error and return 0."""
    if 0 <= count < BITS:
        return 1 << count
    _e[0] = SHIFT if count < 0 else NUMBER
    return 0


@helper
def _left(_e, value, count):
    """Return `value << count` if it fits a number, else note the error and return 0."""
    if count < 0:
        _e[0] = SHIFT
        return 0
    if count >= BITS or abs(0 + value) > ((1 << BITS) - 1) >> count:
        if value != 0:
            _e[0] = NUMBER
        return 0
    return value << count


@helper
def _right(_e, value, count):
    """Return `value >> count`; note the error where the count is negative."""
    if count < 0:
        _e[0] = SHIFT
        return 0
    return value >> min(count, BITS)


@helper
def _times(_e, value, other):
    """Return `value * other` if it fits a number, else note the error and return 0."""
    if value != 0 and abs(0 + other) > ((1 << BITS) - 1) // abs(0 + value):
        _e[0] = NUMBER
        return 0
    return value * other


@helper
def hash_row(words, row):
    """Return a 64-bit hash of a row: every step is invertible for a fixed rest, so one changed word changes it."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for word in range(WORDS):
        h = (h ^ words[row, word]) * np.uint64(0xD6E8FEB86659FD93)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(32))


@kernel
def hash_rows(words, hashes):
    """Write the hash of each row."""
    for row in range(words.shape[0]):
        hashes[row] = hash_row(words, row)


@kernel
def order_by_owner(hashes, count, starts, order):
    """Write the successors' numbers sorted by owner, stable; `starts` gets where each owner's share begins."""
    for owner in range(OWNERS + 1):
        starts[owner] = 0
    for n in range(count):
        starts[(hashes[n] >> OWNER_SHIFT) + np.uint64(1)] += 1
    for owner in range(OWNERS):
        starts[owner + 1] += starts[owner]
    for n in range(count):
        owner = hashes[n] >> OWNER_SHIFT
        order[starts[owner]] = n
        starts[owner] += 1
    for owner in range(OWNERS, 0, -1):
        starts[owner] = starts[owner - 1]
    starts[0] = 0


@kernel
def close(alive, first, last, ends):
    """Count the states first..last-1 without a successor: `ends` = [how many, the first of them]."""
    for row in range(last - first):
        if alive[row] == 0:
            ends[0] += 1
            if ends[1] < 0:
                ends[1] = first + row


@helper
def home(h, slots):
    """Return the first slot to try: the low half of the hash scaled to the table's size."""
    return ((h & np.uint64(0xFFFFFFFF)) * slots) >> np.uint64(32)


@helper
def tagged(h, index):
    """Return a table entry: 8 bits of the hash and the number of the state, plus one, in 24 bits."""
    return np.uint32((((h >> np.uint64(32)) & np.uint64(0xFF)) << np.uint64(24)) | np.uint64(index + 1))


@kernel
def insert(words, hashes, parents, order, starts, batches, owner, place, table, stored, fingerprints, ancestors, counts, limit):
    """Insert one owner's share of the successors of `batches` batches, in order; return whether all were taken.

    `place` = [batch, position] says where to go on. `stored` holds the owner's rows (in compact mode only those of the
    new level), `fingerprints` its hashes (compact mode only), `ancestors` its parents, `counts` = [states, first row
    kept]. It stops when the table holds `limit` states, or when a batch has more successors than there is room for.
    """
    slots = np.uint64(table.shape[0])
    known = counts[0]
    base = counts[1]
    room = ancestors.shape[0]
    kept = stored.shape[0]
    tag_bits = np.uint32(0xFF000000)
    index_bits = np.uint32(0x00FFFFFF)
    for batch in range(place[0], batches):
        first = max(starts[batch, owner], place[1])
        last = starts[batch, owner + 1]
        place[0] = batch
        place[1] = first
        if known + last - first > room or known - base + last - first > kept:
            counts[0] = known
            return False
        for position in range(first, last):
            if position + AHEAD < last:
                prefetch(table, home(hashes[batch, order[batch, position + AHEAD]], slots))
            n = order[batch, position]
            h = hashes[batch, n]
            tag = tagged(h, -1)
            slot = home(h, slots)
            found = False
            while table[slot] != 0:
                entry = table[slot]
                if entry & tag_bits == tag:
                    index = np.int64(entry & index_bits) - 1
                    if COMPACT:
                        found = fingerprints[index] == h
                    else:
                        found = True
                        for word in range(WORDS):
                            if stored[index, word] != words[batch, n, word]:
                                found = False
                                break
                    if found:
                        break
                slot += np.uint64(1)
                if slot == slots:
                    slot = np.uint64(0)
            if not found:
                if known >= limit:
                    counts[0] = known
                    place[1] = position
                    return False
                table[slot] = tagged(h, known)
                for word in range(WORDS):
                    stored[known - base, word] = words[batch, n, word]
                if COMPACT:
                    fingerprints[known] = h
                ancestors[known] = parents[batch, n]
                known += 1
        place[1] = 0
    counts[0] = known
    return True


@kernel
def rebuild(table, hashes, count):
    """Enter the states 0..count-1, all different, into an empty table; `hashes` are theirs."""
    slots = np.uint64(table.shape[0])
    for index in range(count):
        slot = home(hashes[index], slots)
        while table[slot] != 0:
            slot += np.uint64(1)
            if slot == slots:
                slot = np.uint64(0)
        table[slot] = tagged(hashes[index], index)
