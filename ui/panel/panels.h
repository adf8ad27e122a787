/* The views, in the order of their keys. Constant; any thread. */
#ifndef KVF_UI_PANEL_PANELS_H
#define KVF_UI_PANEL_PANELS_H

#include "ui/panel/frame.h"

/* name, code and name of its key, action of the key, words of the key in help and manual */
#define PANEL_LIST(X)                                                                                        \
    X(overview, '1', "1", VIEW, "overview: what limits the run, and what to change")                         \
    X(tiers, '2', "2", VIEW, "tiers: occupancy, bandwidth, latency, falls")                                  \
    X(latency, '3', "3", VIEW, "latency: percentiles and heat map")                                          \
    X(queue, '4', "4", VIEW, "queue: depth, waits, QoS classes")                                             \
    X(autoscaler, '5', "5", VIEW, "autoscaler: users, saturation, decisions")                                \
    X(system, '6', "6", VIEW, "system: CPU, memory, disk, network, GPU")                                     \
    X(requests, '7', "7", VIEW, "requests: those longest in service")                                        \
    X(log, '8', "8", VIEW, "log: events and warnings")                                                       \
    X(hosts, '9', "9", VIEW, "hosts: the ranks of a run, the slowest first")                                 \
    X(pods, '0', "0", VIEW, "pods: each pod of a fleet, the most loaded first")                              \
    X(numbers, 'n', "n", VIEW, "numbers: the main figures in rows, moment by moment")                        \
    X(evidence, 'b', "b", EVIDENCE, "evidence: numbers and rule behind the verdict, and back")               \
    X(help, '?', "?", HELP, "help, and back")
#define X(name, ...) extern const struct panel_ops panel_##name;
PANEL_LIST(X)
#undef X
#define X(name, ...) PANEL_##name,
enum panel { PANEL_LIST(X) PANELS };
#undef X
extern const struct panel_ops *const panels[PANELS];
int panels_key(size_t view); /* the code of its key: '4' */
/* Column by which hosts, and pods, are sorted at first, the highest on top. */
enum { PANEL_HOSTS_SORT = 5, PANEL_PODS_SORT = 1 };

#endif
