/* libcurl, loaded for the first tier in an object store. Linked, this library and its dependencies would take
 * three quarters of the program's start. */
#ifndef KVF_TIER_S3_S3_CURL_H
#define KVF_TIER_S3_S3_CURL_H

#include <curl/curl.h>

#include "base/err.h"

struct s3_curl {
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_pause) *easy_pause;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_multi_add_handle) *multi_add_handle;
    __typeof__(curl_multi_cleanup) *multi_cleanup;
    __typeof__(curl_multi_info_read) *multi_info_read;
    __typeof__(curl_multi_init) *multi_init;
    __typeof__(curl_multi_remove_handle) *multi_remove_handle;
    __typeof__(curl_multi_setopt) *multi_setopt;
    __typeof__(curl_multi_socket_action) *multi_socket_action;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
    __typeof__(curl_version_info) *version_info;
};
/* Its functions; all NULL before s3_curl_load(). */
extern struct s3_curl s3_curl;

/* Loads the library, which is never unloaded. 0, or -KVF_ERR_UNAVAILABLE: it is missing, or too old to sign
 * S3 requests. Any thread. */
int s3_curl_load(struct err *e);

#endif
