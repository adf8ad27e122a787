/* The scenario files of configs/ inside the program, made by shipped.awk at build time. Constant; any thread.
 */
#ifndef KVF_STUDY_SHIPPED_H
#define KVF_STUDY_SHIPPED_H

struct shipped {
    const char *name; /* folder and file without its ending: "tiers/tiers-gpu" */
    const char *yaml;
};
extern const struct shipped shipped_scenarios[]; /* ends with a nameless one */

/* The text of a file by its whole name; NULL when there is none. */
const char *shipped_find(const char *name);

#endif
