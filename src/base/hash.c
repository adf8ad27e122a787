#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed) {
    const unsigned char *p = data;
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ hash_mix64(seed);

    for (size_t i = 0; i < len; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return hash_mix64(h);
}

enum { READ_BYTES = 256 * 1024 };

/* Feeds the rest of fd to the digest. 0 or a negative code. */
static int digest_fd(EVP_MD_CTX *ctx, int fd, unsigned char *chunk, const char *path, struct err *e) {
    for (;;) {
        ssize_t got = read(fd, chunk, READ_BYTES);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return err_set_errno(e, KVF_ERR_IO, errno, "cannot read %s to compute its SHA-256", path);
        if (got == 0) return 0;
        if (EVP_DigestUpdate(ctx, chunk, (size_t)got) != 1)
            return err_set(e, KVF_ERR_INTERNAL, "libcrypto cannot compute the SHA-256 of %s", path);
    }
}

static void hex_text(const unsigned char *digest, size_t len, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[2 * len] = '\0';
}

int hash_sha256_file(const char *path, char out[KVF_SHA256_TEXT], struct err *e) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    unsigned char *chunk = NULL;
    EVP_MD_CTX *ctx = NULL;
    int rc;

    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* of a pipe it would wait */
    if (fd < 0) return err_set_errno(e, KVF_ERR_IO, errno, "cannot open %s to compute its SHA-256", path);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    chunk = malloc(READ_BYTES);
    ctx = EVP_MD_CTX_new();
    if (!chunk || !ctx) {
        rc = err_set(e, KVF_ERR_NOMEM, "memory is exhausted at the SHA-256 of %s", path);
        goto out;
    }
    if (EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
        rc = err_set(e, KVF_ERR_UNAVAILABLE, "this libcrypto offers no SHA-256, which %s needs", path);
        goto out;
    }
    rc = digest_fd(ctx, fd, chunk, path, e);
    if (rc) goto out;
    if (EVP_DigestFinal_ex(ctx, digest, &len) != 1 || len * 2 + 1 != KVF_SHA256_TEXT) {
        rc = err_set(e, KVF_ERR_INTERNAL, "libcrypto cannot finish the SHA-256 of %s", path);
        goto out;
    }
    hex_text(digest, len, out);
out:
    EVP_MD_CTX_free(ctx);
    free(chunk);
    (void)close(fd);
    return rc;
}

int hash_sha256_bytes(const void *data, size_t len, char out[KVF_SHA256_TEXT], struct err *e) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int digest_len = 0;
    if (EVP_Digest(data, len, digest, &digest_len, EVP_sha256(), NULL) != 1 ||
        digest_len * 2 + 1 != KVF_SHA256_TEXT)
        return err_set(e, KVF_ERR_UNAVAILABLE, "this libcrypto offers no SHA-256");
    hex_text(digest, digest_len, out);
    return 0;
}
