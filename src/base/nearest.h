/* The word nearest to a mistyped one. */
#ifndef KVF_BASE_NEAREST_H
#define KVF_BASE_NEAREST_H

/* Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`, letter case ignored:
 * the optimal string alignment distance. Words are compared in their first 95 bytes. Any thread. */
unsigned nearest_distance(const char *a, const char *b);

/* A search: start it with the mistyped word, offer the candidates, and `best` is the nearest of them,
 * the one that begins alike on a tie; NULL when none is within a third of the word's length. */
struct nearest {
    const char *word;
    const char *best; /* one of those offered; not copied */
    unsigned least;
};
struct nearest nearest_start(const char *word);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
