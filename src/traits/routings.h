/* Routings of a fleet, a row each. The operations of a row are `routing_NAME` in fleet/. */
#ifndef KVF_TRAITS_ROUTINGS_H
#define KVF_TRAITS_ROUTINGS_H

enum traits_routing_caps {
    ROUTING_BY_BLOCKS = 1,  /* goes by the blocks of a request: granularity block */
    ROUTING_REMEMBERS = 2,  /* each router remembers what it sent where */
    ROUTING_ASKS_INDEX = 4, /* asks the index, which pods feed with events */
    ROUTING_BY_LOAD = 8     /* goes by how loaded the pods are */
};

/* id; word in scenarios; NAME of its operations; capabilities; which pod it takes, for the manual. */
#define TRAITS_ROUTING_LIST(X)                                                                               \
    X(KVF_ROUTING_RANDOM, "random", random, 0, "one drawn at random.")                                       \
    X(KVF_ROUTING_ROUND_ROBIN, "round_robin", round_robin, 0, "the next in turn.")                           \
    X(KVF_ROUTING_LEAST_LOADED, "least_loaded", least_loaded, ROUTING_BY_LOAD,                               \
      "the one with the fewest requests queued and in service.")                                             \
    X(KVF_ROUTING_POWER_OF_TWO, "power_of_two", power_of_two, ROUTING_BY_LOAD,                               \
      "the less loaded of two drawn at random.")                                                             \
    X(KVF_ROUTING_SESSION, "session", session, 0, "always the same for one conversation, by its hash.")      \
    X(KVF_ROUTING_ESTIMATED, "estimated", estimated,                                                         \
      ROUTING_BY_BLOCKS | ROUTING_REMEMBERS | ROUTING_BY_LOAD,                                               \
      "the best by prefix and load, where the prefix is what this router remembers to have sent there.")     \
    X(KVF_ROUTING_PRECISE, "precise", precise, ROUTING_BY_BLOCKS | ROUTING_ASKS_INDEX | ROUTING_BY_LOAD,     \
      "the best by prefix and load, where the prefix is what the index says is there.")

#endif
