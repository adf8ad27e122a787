#include "tier/s3/s3_curl.h"

#include <stddef.h>

#include "probe/library.h"

/* Older versions sign requests in a way that S3 does not accept. */
#define LEAST_VERSION "7.88.0"
enum { LEAST_NUMBER = 0x075800 };

#define CALL(name) LIBRARY_CALL(struct s3_curl, name, "curl_" #name)
static const struct library_call calls[] = {
    CALL(easy_cleanup),        CALL(easy_getinfo),  CALL(easy_init),           CALL(easy_pause),
    CALL(easy_perform),        CALL(easy_setopt),   CALL(easy_strerror),       CALL(global_init),
    CALL(multi_add_handle),    CALL(multi_cleanup), CALL(multi_info_read),     CALL(multi_init),
    CALL(multi_remove_handle), CALL(multi_setopt),  CALL(multi_socket_action), CALL(slist_append),
    CALL(slist_free_all),      CALL(version_info),
};

struct s3_curl s3_curl;

static int judge(void *table, struct err *e) {
    const struct s3_curl *found = table;
    if (found->version_info(CURLVERSION_NOW)->version_num < LEAST_NUMBER)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "libcurl is older than " LEAST_VERSION
                       ", which is needed to sign requests to S3; install a newer one");
    (void)found->global_init(CURL_GLOBAL_DEFAULT);
    return 0;
}

int s3_curl_load(struct err *e) {
    static const struct library l = {.file = "libcurl.so.4",
                                     .what = "libcurl",
                                     .install = "install libcurl4 (Debian, Ubuntu) or libcurl (Fedora)",
                                     .call = calls,
                                     .calls = sizeof calls / sizeof *calls};
    static struct library_kept kept = LIBRARY_KEPT;
    return library_keep(&kept, &l, &s3_curl, judge, e);
}
