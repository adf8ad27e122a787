/* Finds and loads the plugin with the message passing of a launcher. */
#ifndef KVF_RANK_PLUGIN_H
#define KVF_RANK_PLUGIN_H

#include <stddef.h>

struct rank_link;

/* The library, which stays loaded, and its calls; NULL, with the reason in `why`, where there is none. Any
 * thread. */
void *plugin_open(const struct rank_link **link, char *why, size_t len);

#endif
