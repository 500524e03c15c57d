/* Breadth-first search of Kip320 (hachikuji/kafka-specification) in C, one thread, by hand for speed.

   cc -O3 -march=native -DREPLICAS=3 -DLOG_SIZE=2 -DMAX_RECORDS=2 -DMAX_LEADER_EPOCH=2 handwritten.c
   ./a.out 3 2 2 2            the search, one line of JSON
   ./a.out 3 2 2 2 latency    instead of its time, that of its table accesses alone

   REPLICAS, LOG_SIZE and MAX_LEADER_EPOCH are compiled in, and the arguments must equal them; the
   argument for MAX_RECORDS may be smaller.

   A state is one row of at most 128 bits, and a row of zeros is no state. Brokers, epochs and record
   ids count from 1, so that 0 is NONE, "no epoch yet" and "unwritten". nextLeaderEpoch is not kept: it
   follows the quorum's epoch. The set of LeaderAndIsr requests is an array by epoch, since the
   controller sends one request per epoch. */

#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if !defined REPLICAS || !defined LOG_SIZE || !defined MAX_RECORDS || !defined MAX_LEADER_EPOCH
#error "the constants are missing; say -DREPLICAS=3 -DLOG_SIZE=2 and so on, as above"
#endif

typedef unsigned __int128 row;

/* A replica's fields, and the shared ones, each packed into a word; the words side by side are a row. */
#define BITS(largest) (32 - __builtin_clz(largest))
enum {
    EPOCHS = MAX_LEADER_EPOCH + 1,
    EPOCH_BITS = BITS(EPOCHS),
    LEADER_BITS = BITS(REPLICAS),
    END_BITS = BITS(LOG_SIZE),
    ID_BITS = BITS(MAX_RECORDS),
    RECORD_BITS = ID_BITS + EPOCH_BITS,
    REQUEST_BITS = LEADER_BITS + REPLICAS,

    END = 0,
    HW = END + END_BITS,
    EPOCH = HW + END_BITS,
    LEADER = EPOCH + EPOCH_BITS,
    ISR = LEADER + LEADER_BITS,
    LOG = ISR + REPLICAS,
    REPLICA_BITS = LOG + LOG_SIZE * RECORD_BITS,

    QUORUM_EPOCH = 0,
    QUORUM_LEADER = QUORUM_EPOCH + EPOCH_BITS,
    QUORUM_ISR = QUORUM_LEADER + LEADER_BITS,
    RECORDS = QUORUM_ISR + REPLICAS,
    REQUESTS = RECORDS + ID_BITS,
    SHARED_BITS = REQUESTS + EPOCHS * REQUEST_BITS,

    SHARED = REPLICAS * REPLICA_BITS,
    MOST_SUCCESSORS = 2 * REPLICAS + EPOCHS + 2 * REPLICAS + 3 * REPLICAS * REPLICAS,
    BLOCK = 16,
};
_Static_assert(LOG_SIZE >= 1 && MAX_RECORDS >= 1, "a log has room and a producer has records");
_Static_assert(REPLICA_BITS < 64 && SHARED_BITS < 64, "a word has 64 bits");
_Static_assert(SHARED + SHARED_BITS <= 128, "a row has 128 bits");
#define MASK(bits) ((UINT64_C(1) << (bits)) - 1)
#define GET(word, at, bits) ((unsigned)((word) >> (at)) & (unsigned)MASK(bits))
#define END_OF(word) GET(word, END, END_BITS)
#define HW_OF(word) GET(word, HW, END_BITS)
#define EPOCH_OF(word) GET(word, EPOCH, EPOCH_BITS)
#define LEADER_OF(word) GET(word, LEADER, LEADER_BITS)
#define ISR_OF(word) GET(word, ISR, REPLICAS)
#define LEADER_AND_ISR MASK(REQUEST_BITS) /* adjacent in a replica, the quorum and a request */
#define REQUEST(shared, epoch) \
    ((shared) >> (REQUESTS + ((epoch) - 1) * REQUEST_BITS) & LEADER_AND_ISR)
#define IN(isr, broker) ((isr) >> (broker) & 1)

static bool weak_isr_holds = true, strong_isr_holds = true;

/* A changed word replaces the old one by exclusive or. */
#define YIELD_REPLICA(broker, now) \
    (*next++ = state ^ (row)(replica[broker] ^ (now)) << ((broker) * REPLICA_BITS))
#define YIELD_SHARED(now) (*next++ = state ^ (row)(shared ^ (now)) << SHARED)

/* IsFollowingLeaderEpoch; brokers index from 0, leaders are named from 1. */
static inline bool same_epoch(const uint64_t *replica, unsigned leader, unsigned follower) {
    return LEADER_OF(replica[leader]) == leader + 1 && LEADER_OF(replica[follower]) == leader + 1 &&
           EPOCH_OF(replica[leader]) == EPOCH_OF(replica[follower]);
}

static inline uint64_t obey(uint64_t replica, uint64_t request, unsigned epoch) {
    replica &= ~(MASK(EPOCH_BITS) << EPOCH | LEADER_AND_ISR << LEADER);
    return replica | (uint64_t)epoch << EPOCH | request << LEADER;
}

static inline void unpack(row state, uint64_t *replica, uint64_t *shared) {
    for (unsigned b = 0; b < REPLICAS; b++)
        replica[b] = (uint64_t)(state >> b * REPLICA_BITS) & MASK(REPLICA_BITS);
    *shared = (uint64_t)(state >> SHARED) & MASK(SHARED_BITS);
}

/* ControllerUpdateIsr: the next epoch, and a request that says what the quorum says. */
static inline uint64_t controller_update(uint64_t shared, unsigned leader, unsigned isr) {
    unsigned epoch = GET(shared, QUORUM_EPOCH, EPOCH_BITS);
    uint64_t quorum = leader | (uint64_t)isr << LEADER_BITS;
    shared &= ~(LEADER_AND_ISR << QUORUM_LEADER | MASK(EPOCH_BITS) << QUORUM_EPOCH);
    shared |= quorum << QUORUM_LEADER | (uint64_t)(epoch + 1) << QUORUM_EPOCH;
    return shared | quorum << (REQUESTS + epoch * REQUEST_BITS);
}

/* FirstNonMatchingOffsetFromTail, and the follower's log and high watermark cut back to it. */
static inline uint64_t truncate_to_match(uint64_t leader, uint64_t follower) {
    unsigned end = 0;
    for (unsigned o = 0; o < LOG_SIZE; o++) {
        uint64_t record = leader >> (LOG + o * RECORD_BITS) & MASK(RECORD_BITS);
        if (record != 0 && record == (follower >> (LOG + o * RECORD_BITS) & MASK(RECORD_BITS)))
            end = o + 1;
    }
    unsigned hw = HW_OF(follower) < end ? HW_OF(follower) : end;
    follower &= MASK(LOG + end * RECORD_BITS) & ~MASK(EPOCH);
    return follower | (uint64_t)end << END | (uint64_t)hw << HW;
}

static inline row *with_follower(row state, const uint64_t *replica, uint64_t shared,
                                 unsigned leader, unsigned follower, row *next) {
    uint64_t l = replica[leader], f = replica[follower];
    unsigned hw = HW_OF(l), isr = ISR_OF(l), epoch = EPOCH_OF(l);
    bool same = same_epoch(replica, leader, follower);
    if (GET(shared, QUORUM_LEADER, LEADER_BITS) == leader + 1 &&
        GET(shared, QUORUM_EPOCH, EPOCH_BITS) == epoch) {
        bool allowed;
        if (IN(isr, follower)) { /* FencedLeaderShrinkIsr */
            allowed = !same || END_OF(f) < END_OF(l);
        } else { /* FencedLeaderExpandIsr */
            unsigned record_epoch = GET(l, LOG + hw * RECORD_BITS, EPOCH_BITS);
            allowed = same && END_OF(f) >= hw &&
                      (hw == END_OF(l) || (hw < END_OF(l) && record_epoch == epoch));
        }
        if (allowed) {
            uint64_t joint = isr ^ 1u << follower, old = GET(shared, QUORUM_ISR, REPLICAS);
            row changed = state ^ (row)((isr ^ joint) << ISR) << (leader * REPLICA_BITS);
            *next++ = changed ^ (row)((old ^ joint) << QUORUM_ISR) << SHARED;
        }
    }
    if (same && END_OF(f) < END_OF(l)) { /* FencedFollowerFetch */
        unsigned end = END_OF(f);
        uint64_t record = l & MASK(RECORD_BITS) << (LOG + end * RECORD_BITS);
        uint64_t capped = end + 1 < hw ? end + 1 : hw;
        YIELD_REPLICA(follower, (f & ~MASK(EPOCH)) | record | capped << HW | (end + 1) << END);
    }
    if (EPOCH_OF(f) < epoch) { /* FencedBecomeFollowerAndTruncate */
        uint64_t request = REQUEST(shared, epoch);
        if ((request & MASK(LEADER_BITS)) == leader + 1)
            YIELD_REPLICA(follower, obey(truncate_to_match(l, f), request, epoch));
    }
    return next;
}

/* Write the successors of a state to `next` and return where they end. */
static inline row *expand(row state, unsigned max_records, row *next) {
    uint64_t replica[REPLICAS], shared;
    unpack(state, replica, &shared);
    unsigned quorum_epoch = GET(shared, QUORUM_EPOCH, EPOCH_BITS);
    if (quorum_epoch < EPOCHS) {
        unsigned leader = GET(shared, QUORUM_LEADER, LEADER_BITS);
        unsigned isr = GET(shared, QUORUM_ISR, REPLICAS);
        for (unsigned b = 0; b < REPLICAS; b++) {
            unsigned without = isr & ~(1u << b);
            if (leader == b + 1) { /* ControllerShrinkIsr */
                YIELD_SHARED(controller_update(shared, 0, without ? without : isr));
            } else if (IN(isr, b)) { /* ControllerElectLeader, ControllerShrinkIsr */
                YIELD_SHARED(controller_update(shared, b + 1, isr));
                YIELD_SHARED(controller_update(shared, leader, without));
            }
        }
    }
    for (unsigned epoch = 1; epoch <= quorum_epoch; epoch++) { /* BecomeLeader */
        uint64_t request = REQUEST(shared, epoch);
        unsigned leader = request & MASK(LEADER_BITS);
        if (leader != 0 && epoch > EPOCH_OF(replica[leader - 1]))
            YIELD_REPLICA(leader - 1, obey(replica[leader - 1], request, epoch));
    }
    for (unsigned leader = 0; leader < REPLICAS; leader++) {
        uint64_t l = replica[leader];
        unsigned end = END_OF(l), hw = HW_OF(l), records = GET(shared, RECORDS, ID_BITS);
        bool acknowledged = end > hw; /* FencedLeaderIncHighWatermark: an empty ISR will do */
        for (unsigned f = 0; f < REPLICAS; f++)
            if (IN(ISR_OF(l), f) && !(same_epoch(replica, leader, f) && END_OF(replica[f]) > hw))
                acknowledged = false;
        if (acknowledged) YIELD_REPLICA(leader, l + (UINT64_C(1) << HW));
        if (LEADER_OF(l) != leader + 1) continue;
        if (records < max_records && end < LOG_SIZE) { /* LeaderWrite */
            uint64_t record = EPOCH_OF(l) | (uint64_t)(records + 1) << EPOCH_BITS;
            YIELD_REPLICA(leader, (l + (1 << END)) | record << (LOG + end * RECORD_BITS));
            next[-1] += (row)1 << (SHARED + RECORDS);
        }
        for (unsigned f = 0; f < REPLICAS; f++)
            if (f != leader) next = with_follower(state, replica, shared, leader, f, next);
    }
    return next;
}

/* WeakIsr, StrongIsr and LeaderInIsrOrNone. */
static inline void check(row state) {
    uint64_t replica[REPLICAS], shared;
    unpack(state, replica, &shared);
    unsigned quorum_isr = GET(shared, QUORUM_ISR, REPLICAS);
    unsigned leader = GET(shared, QUORUM_LEADER, LEADER_BITS);
    if (leader != 0 && !IN(quorum_isr, leader - 1)) {
        fputs("LeaderInIsrOrNone fails, which Kip320 excludes: this search has a bug\n", stderr);
        exit(1);
    }
    for (unsigned b = 0; b < REPLICAS; b++) {
        uint64_t l = replica[b];
        unsigned hw = HW_OF(l);
        if (LEADER_OF(l) != b + 1 || hw == 0) continue;
        uint64_t exposed = MASK(LOG + hw * RECORD_BITS) & ~MASK(LOG);
        for (unsigned r = 0; r < REPLICAS; r++) {
            uint64_t f = replica[r];
            if (END_OF(l) >= hw && END_OF(f) >= hw && ((l ^ f) & exposed) == 0) continue;
            if (IN(ISR_OF(l), r)) weak_isr_holds = false;
            if (IN(quorum_isr, r)) strong_isr_holds = false;
        }
    }
}

static row *slots; /* a row of zeros is a free slot */
static uint64_t capacity;

static void *must(void *memory) {
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void *zeros(uint64_t bytes) {
    uint64_t huge = UINT64_C(1) << 21; /* huge pages spare most misses of the TLB */
    bytes = (bytes + huge - 1) / huge * huge;
    void *memory = must(aligned_alloc(huge, bytes));
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memset(memory, 0, bytes);
}

static double clock_of(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double now(void) {
    return clock_of(CLOCK_MONOTONIC);
}

static inline uint64_t slot_of(row state) {
    uint64_t low = (uint64_t)state, high = (uint64_t)(state >> 64);
    row product = (row)(low ^ UINT64_C(0x9e3779b97f4a7c15)) * (high ^ UINT64_C(0xd1b54a32d192ed03));
    return ((uint64_t)product ^ (uint64_t)(product >> 64)) & (capacity - 1);
}

/* Where the state is, or the free slot for it; linear probing, most often within a cache line. */
static inline row *find(row state) {
    uint64_t at = slot_of(state);
    while (slots[at] != 0 && slots[at] != state) at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static void double_slots(void) {
    row *old = slots;
    uint64_t old_capacity = capacity;
    capacity *= 2;
    slots = zeros(capacity * sizeof(row));
    for (uint64_t at = 0; at < old_capacity; at++)
        if (old[at] != 0) *find(old[at]) = old[at];
    free(old);
}

struct result {
    uint64_t distinct, generated, depth, bytes;
};

/* Visit every reachable state; the slots stay behind for `accesses`. */
static struct result search(unsigned max_records) {
    struct result found = {.distinct = 1, .generated = 1};
    row fresh[BLOCK * MOST_SUCCESSORS];
    uint64_t room = 1 << 12, size = 1;
    row *level = must(malloc(room * sizeof(row))), *coming = must(malloc(room * sizeof(row)));
    capacity = 1 << 12;
    slots = zeros(capacity * sizeof(row));
    level[0] = (row)(MASK(REPLICAS) << QUORUM_ISR) << SHARED;
    *find(level[0]) = level[0];
    check(level[0]);
    while (size > 0) {
        uint64_t coming_size = 0;
        found.depth++;
        for (uint64_t start = 0; start < size; start += BLOCK) {
            row *end = fresh;
            for (uint64_t i = start; i < size && i < start + BLOCK; i++)
                end = expand(level[i], max_records, end);
            uint64_t most = (uint64_t)(end - fresh);
            while ((found.distinct + most) * 4 > capacity * 3) double_slots();
            for (row *state = fresh; state < end; state++)
                __builtin_prefetch(&slots[slot_of(*state)]);
            if (coming_size + most > room) {
                room *= 2;
                level = must(realloc(level, room * sizeof(row)));
                coming = must(realloc(coming, room * sizeof(row)));
            }
            for (row *state = fresh; state < end; state++) {
                row *slot = find(*state);
                if (*slot != 0) continue;
                *slot = coming[coming_size++] = *state;
                check(*state);
                found.distinct++;
            }
            found.generated += most;
        }
        row *done = level;
        level = coming, coming = done, size = coming_size;
    }
    free(level);
    free(coming);
    found.bytes = (capacity + 2 * room) * sizeof(row);
    return found;
}

static volatile uint64_t zero; /* volatile, or the compiler would drop what depends on it */

/* Seconds for as many inserts and hits as the search had, of random rows in a table of its last size,
   and nothing else. A block of 1 is the latency bound: no row is known before the last slot was read.
   In a larger block the misses overlap, as they do in the search. */
static double accesses(struct result found, uint64_t block) {
    uint64_t inserted = 0, last = 0, unknown = zero;
    row random[BLOCK];
    memset(slots, 0, capacity * sizeof(row));
    double start = now();
    for (uint64_t i = 0; i < found.generated; i += block) {
        uint64_t size = found.generated - i < block ? found.generated - i : block;
        for (uint64_t k = 0; k < size; k++) {
            uint64_t number = inserted, draw = (i + k + 1) * UINT64_C(0xbf58476d1ce4e5b9);
            if (inserted * found.generated > (i + k) * found.distinct)
                number = (uint64_t)((row)(draw ^ draw >> 31) * inserted >> 64);
            else
                inserted++;
            number += 1 + (last & unknown);
            row high = number * UINT64_C(0xd6e8feb86659fd93);
            random[k] = high << 64 | number * UINT64_C(0xff51afd7ed558ccd);
            __builtin_prefetch(&slots[slot_of(random[k])]);
        }
        for (uint64_t k = 0; k < size; k++) {
            row *slot = find(random[k]);
            last = (uint64_t)*slot;
            *slot = random[k];
        }
    }
    return now() - start;
}

int main(int count, char **arguments) {
    bool latency = count == 6 && strcmp(arguments[5], "latency") == 0;
    if (count != 5 && !latency) {
        fputs("usage: REPLICAS LOG_SIZE MAX_RECORDS MAX_LEADER_EPOCH [latency]\n", stderr);
        return 2;
    }
    int records = atoi(arguments[3]);
    if (atoi(arguments[1]) != REPLICAS || atoi(arguments[2]) != LOG_SIZE || records < 0 ||
        records > MAX_RECORDS || atoi(arguments[4]) != MAX_LEADER_EPOCH) {
        fprintf(stderr, "this program is for %d %d %d %d; compile it again with other -D\n",
                REPLICAS, LOG_SIZE, MAX_RECORDS, MAX_LEADER_EPOCH);
        return 2;
    }
    double start = now(), busy = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    struct result found = search((unsigned)records);
    double seconds = now() - start, processor_seconds = clock_of(CLOCK_PROCESS_CPUTIME_ID) - busy;
    if (latency) {
        double dependent = accesses(found, 1), overlapped = accesses(found, BLOCK);
        printf("{\"accesses\": %" PRIu64 ", \"inserts\": %" PRIu64 ", \"table_bytes\": %" PRIu64
               ", \"seconds\": %.6f, \"overlapped_seconds\": %.6f}\n",
               found.generated, found.distinct, capacity * sizeof(row), dependent,
               overlapped);
        return 0;
    }
    printf("{\"distinct\": %" PRIu64 ", \"generated\": %" PRIu64 ", \"depth\": %" PRIu64
           ", \"weak_isr_holds\": %s, \"strong_isr_holds\": %s, \"seconds\": %.6f, \"processor_seconds\": %.6f"
           ", \"bytes_per_state\": %.1f}\n",
           found.distinct, found.generated, found.depth, weak_isr_holds ? "true" : "false",
           strong_isr_holds ? "true" : "false", seconds, processor_seconds,
           (double)found.bytes / (double)found.distinct);
    return 0;
}
