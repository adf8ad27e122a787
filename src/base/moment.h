/* Points in time, seconds since the epoch, as text. A value that is NaN, not positive, or beyond the year
 * 9999 is no point in time. Any thread. */
#ifndef KVF_BASE_MOMENT_H
#define KVF_BASE_MOMENT_H

#include <stdbool.h>
#include <time.h>

enum { MOMENT_TEXT = 48 };

/* Broken down in UTC; false: no point in time. */
bool moment_utc(double epoch_s, struct tm *out);
/* For people: "2026-11-20 08:30" in the local time zone, and "2026-11-20 08:30:00 UTC", which means the same
 * everywhere; "--" for no point in time. */
void moment_local_text(double epoch_s, char out[MOMENT_TEXT]);
void moment_utc_text(double epoch_s, char out[MOMENT_TEXT]);
/* For programs, ISO 8601 in UTC with 0 to 6 decimals; "2026-11-20T08:30:00.250Z" has 3. False, and "", for no
 * point in time. */
bool moment_iso(double epoch_s, int decimals, char out[MOMENT_TEXT]);

#endif
