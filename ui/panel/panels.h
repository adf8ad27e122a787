/* The views, in the order of their keys. */
#ifndef KVF_UI_PANEL_PANELS_H
#define KVF_UI_PANEL_PANELS_H

#include "ui/panel/frame.h"

#define PANEL_LIST(X)                                                                                        \
    X(overview)                                                                                              \
    X(tiers)                                                                                                 \
    X(latency) X(queue) X(autoscaler) X(system) X(requests) X(log) X(hosts) X(pods) X(evidence) X(help)
#define X(name) extern const struct panel_ops panel_##name;
PANEL_LIST(X)
#undef X
#define X(name) PANEL_##name,
enum panel { PANEL_LIST(X) PANELS };
#undef X
extern const struct panel_ops *const panels[PANELS];
/* Column by which hosts, and pods, are sorted at first, the highest on top. */
enum { PANEL_HOSTS_SORT = 5, PANEL_PODS_SORT = 1 };

#endif
