/* Functions shared by the files of the JSON reader. One thread for each reader. */
#ifndef KVF_WORKLOAD_FORMAT_JSON_INSIDE_H
#define KVF_WORKLOAD_FORMAT_JSON_INSIDE_H

#include "workload/format/json.h"

/* Whether `need` bytes are in the buffer; reads on for them, which may move the buffer's content. */
bool json_ahead(struct json *j, size_t need);
/* Ends the reading with a sentence about the current byte; returns false. The first error stays. */
bool json_fail_here(struct json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool json_cut_short(struct json *j); /* the same, about an input that ends too early */
/* json_fail_here() in the body of a string; true when the reader is lenient and goes on. */
bool json_fault_here(struct json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Begins a string at the current byte, its opening quote. */
void json_string_begin(struct json *j);
/* Reads a string to its end and keeps its first bytes, whole code points only. */
bool json_text_read(struct json *j);
/* Reads and checks the number that begins at the current byte. */
bool json_number_read(struct json *j);

#endif
