/* Sizes and durations as text. Sizes are bytes with KiB, MiB, GiB, TiB (1024) or KB, MB, GB, TB
 * (1000); durations are nanoseconds with ns, us, ms, s, m, h. Any thread. */
#ifndef KVF_BASE_UNITS_H
#define KVF_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KVF_KIB UINT64_C(1024)
#define KVF_MIB (UINT64_C(1024) * KVF_KIB)
#define KVF_GIB (UINT64_C(1024) * KVF_MIB)
#define KVF_TIB (UINT64_C(1024) * KVF_GIB)

/* Parse the whole of `text`; fractions are allowed ("1.5GiB", "0.5s"). A bare number is bytes, or
 * nanoseconds only when it is 0. 0, or -1 when the text is not such a number or overflows. */
int units_parse_size(const char *text, uint64_t *bytes);
/* A size followed by "/s", in bytes per second: "7GB/s". */
int units_parse_rate(const char *text, uint64_t *bytes_per_s);
int units_parse_duration(const char *text, uint64_t *ns);
/* An age: a duration, or whole days or weeks: "90d", "12w", "36h". */
int units_parse_age(const char *text, uint64_t *ns);
/* Shortest exact form that parses back to the same value: 4194304 -> "4MiB", 90000000000 -> "90s"
 * (the largest unit that divides it; else the plain number of bytes, or of "ns"). */
char *units_size_exact(uint64_t bytes, char *buf, size_t len);
char *units_duration_exact(uint64_t ns, char *buf, size_t len);
/* For people, three significant digits: "1.25 GiB", "42.0 ms", "12.4k", "02:07:15". `count` takes
 * any magnitude; clock is [h:]mm:ss. All return buf. */
char *units_size_human(double bytes, char *buf, size_t len);
char *units_duration_human(double ns, char *buf, size_t len);
char *units_count_human(double count, char *buf, size_t len);
char *units_clock(uint64_t ns, char *buf, size_t len);
/* Whether `text` begins with a unit as it follows a number: "GiB," "ms" "%" "tok/s". Punctuation after it
 * does not count. Lines do not break before a unit. */
bool units_is_unit(const char *text);

/* The shortest decimal text that reads back as the same number; whole numbers have no point: "759". */
enum { UNITS_REAL = 40 };
void units_format_real(double v, char out[UNITS_REAL]);

#endif
