/* The slots of pods: requests that wait for one, requests that hold one, and their workers. The caller holds
 * queue_lock. */
#ifndef KVF_ENGINE_PODS_SLOTS_H
#define KVF_ENGINE_PODS_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct class_counts;
struct service;
struct flight;
struct pod;
struct worker;

/* Into the queue of its pod; false: it is full. */
bool slots_enqueue(struct service *v, struct flight *f);
/* Gives free slots to the most urgent requests, at the pods that got or lost one since the last call. */
void slots_fill(struct service *v);
void slots_touch(struct pod *p); /* this one among them */
/* A request, or an entry of the preparation, gives its slot back. */
void slots_leave(struct worker *w, struct flight *f);
/* Brings the integrals of the classes up to that run time; or those of one, before its counts change. */
void slots_count_time(struct service *v, uint64_t now_ns);
void slots_count_class(struct class_counts *k, uint64_t now_ns);

#endif
