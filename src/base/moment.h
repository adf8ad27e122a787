/* Points in time, seconds since the epoch, as text. What is missing, not after 1970 began, or beyond the year
 * 9999 is no point in time. Any thread. */
#ifndef KVF_BASE_MOMENT_H
#define KVF_BASE_MOMENT_H

#include <stdbool.h>
#include <time.h>

enum { MOMENT_TEXT = 48 };

/* In UTC, broken down; false: there is none. */
bool moment_utc(double epoch_s, struct tm *out);
/* For people: "2026-11-20 08:30" in their own time zone, "2026-11-20 08:30:00 UTC" where it shall mean the
 * same to all of them; "--" for none. */
void moment_local_text(double epoch_s, char out[MOMENT_TEXT]);
void moment_utc_text(double epoch_s, char out[MOMENT_TEXT]);
/* For programs, ISO 8601 in UTC: "2026-11-20T08:30:00.250Z" of 3 decimals, of which there are 6 at most.
 * False, and "", for none. */
bool moment_iso(double epoch_s, int decimals, char out[MOMENT_TEXT]);

#endif
