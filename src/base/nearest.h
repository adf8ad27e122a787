/* The nearest of several words to one that somebody mistyped. */
#ifndef KVF_BASE_NEAREST_H
#define KVF_BASE_NEAREST_H

/* Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`, letter case ignored:
 * the optimal string alignment distance. Words are compared in their first 95 bytes. Any thread. */
unsigned nearest_distance(const char *a, const char *b);

#endif
