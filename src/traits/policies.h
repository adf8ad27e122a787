/* Eviction policies, a row each. The operations of a row are `policy_NAME` in cache/policy/. */
#ifndef KVF_TRAITS_POLICIES_H
#define KVF_TRAITS_POLICIES_H

enum traits_policy_caps {
    POLICY_LOOKS_AHEAD = 1, /* knows the next access to every entry: only in a simulation of a known trace */
    POLICY_BY_PARENTS = 2,  /* knows which block follows which: granularity block, one copy of a block */
    POLICY_BY_RULES = 4     /* goes by cache.priorities, which must not be empty */
};

/* id; word in scenarios; NAME of its operations; capabilities; the key that only it reads, or NULL; which
 * entry falls first, for the manual. */
#define TRAITS_POLICY_LIST(X)                                                                                \
    X(KVF_EVICTION_LRU, "lru", lru, 0, NULL,                                                                 \
      "the one accessed longest ago, where a fall is no access (Mattson, Gecsei, Slutz and Traiger, IBM "    \
      "Systems Journal 9(2), 1970).")                                                                        \
    X(KVF_EVICTION_LRU2, "lru2", lru2, 0, NULL,                                                              \
      "the least recent of those accessed once in the tier, else the one whose access before the last is "   \
      "oldest: LRU-K with K = 2 (O'Neil, O'Neil and Weikum, SIGMOD 1993).")                                  \
    X(KVF_EVICTION_FIFO, "fifo", fifo, 0, NULL,                                                              \
      "the one written first (Belady, IBM Systems Journal 5(2), 1966).")                                     \
    X(KVF_EVICTION_CLOCK, "clock", clock, 0, NULL,                                                           \
      "the next in a ring that was not accessed since the hand passed it (Corbató, MIT Project MAC, 1968).") \
    X(KVF_EVICTION_LFU, "lfu", lfu, 0, NULL,                                                                 \
      "the one with the fewest accesses, where what came later starts higher, so that old counts wear off "  \
      "(Arlitt and others, Performance Evaluation Review 27(4), 2000).")                                     \
    X(KVF_EVICTION_SLRU, "slru", slru, 0, NULL,                                                              \
      "the least recent of those that were not accessed again; those that were have four fifths of the "     \
      "tier (Karedla, Love and Wherry, IEEE Computer 27(3), 1994).")                                         \
    X(KVF_EVICTION_TWOQ, "2q", twoq, 0, NULL,                                                                \
      "the oldest of a first queue while that has more than a quarter of the tier, else the least recent "   \
      "of those that came back after they had fallen out of it (Johnson and Shasha, VLDB 1994).")            \
    X(KVF_EVICTION_ARC, "arc", arc, 0, NULL,                                                                 \
      "the least recent of those accessed once or of those accessed again; recent returns of dropped "       \
      "entries decide which (Megiddo and Modha, FAST 2003).")                                                \
    X(KVF_EVICTION_S3FIFO, "s3fifo", s3fifo, 0, NULL,                                                        \
      "the oldest of a small queue, a tenth of the tier, that was not accessed twice, else the oldest of "   \
      "the main queue that was not accessed (Yang and others, SOSP 2023).")                                  \
    X(KVF_EVICTION_S3FIFO_REF, "s3fifo_ref", s3fifo_ref, 0, NULL,                                            \
      "as s3fifo, with the rules of its authors' implementation in libCacheSim, which fills the main queue " \
      "before the first eviction and takes from it only when it has more than its share.")                   \
    X(KVF_EVICTION_SIEVE, "sieve", sieve, 0, NULL,                                                           \
      "the next that was not accessed since the hand passed it, the hand going from the oldest to the "      \
      "newest, and nothing moves (Zhang and others, NSDI 2024).")                                            \
    X(KVF_EVICTION_GDSF, "gdsf", gdsf, 0, NULL,                                                              \
      "the one of least worth per byte: accesses times the cost of a miss, 1 and 1 a MiB, by its size, "     \
      "with aging (Cherkasova, HPL-98-69, 1998).")                                                           \
    X(KVF_EVICTION_LEAF_LRU, "leaf_lru", leaf_lru, POLICY_BY_PARENTS, NULL,                                  \
      "at granularity block, the one accessed longest ago of the blocks that no other in the tier follows "  \
      "(Zheng and others, NeurIPS 2024); not with placement inclusive.")                                     \
    X(KVF_EVICTION_TTL, "ttl", ttl, 0, "cache.ttl",                                                          \
      "the one that was not accessed for the longest time; after cache.ttl without an access it leaves the " \
      "cache in any case (Jung, Berger and Balakrishnan, INFOCOM 2003).")                                    \
    X(KVF_EVICTION_PRIORITY, "priority", priority, POLICY_BY_RULES, "cache.priorities",                      \
      "the least recent of the lowest priority that cache.priorities give (Cao, Felten and Li, OSDI 1994).") \
    X(KVF_EVICTION_BELADY, "belady", belady, POLICY_LOOKS_AHEAD, NULL,                                       \
      "the one whose next access is latest, known only in a simulation of a bailian, mooncake "              \
      "or ops trace; with entries of one size in one tier no policy has more hits (Belady, as above).")

#define TRAITS_ONE(...) +1
enum { TRAITS_POLICIES = TRAITS_POLICY_LIST(TRAITS_ONE) };

#endif
