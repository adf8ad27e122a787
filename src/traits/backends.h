/* The backends of a tier, a row each; the first of a tier is its default. The operations of a row are
 * `tier_NAME_ops` in tier/. A tier with several rows has the key `backend`, which chooses. */
#ifndef KVF_TRAITS_BACKENDS_H
#define KVF_TRAITS_BACKENDS_H

enum traits_backend_caps {
    BACKEND_DEVICE = 1,   /* bytes are in the memory of GPUs */
    BACKEND_STORE = 2,    /* bytes are in a store that tiers.remote.url names */
    BACKEND_SERVER = 4,   /* which is a server that is spoken to */
    BACKEND_NONE = 8,     /* the tier is off */
    BACKEND_LINK = 16,    /* may take the time of the tier's modelled link */
    BACKEND_MEMORY = 32,  /* bytes are in an arena in the memory of this machine */
    BACKEND_BUFFERS = 64, /* each connection has a buffer in memory that holds a value */
    BACKEND_STRICT = 128  /* certificates are checked whatever tiers.remote.insecure says */
};

/* id; word in scenarios; NAME of its operations; capabilities; description, for the manual. */
#define TRAITS_GPU_BACKEND_LIST(X)                                                                           \
    X(KVF_BACKEND_AUTO, "auto", emulated, BACKEND_LINK, "cuda where it can be used, else emulated.")         \
    X(KVF_BACKEND_CUDA, "cuda", cuda, BACKEND_DEVICE, "memory of NVIDIA GPUs.")                              \
    X(KVF_BACKEND_EMULATED, "emulated", emulated, BACKEND_LINK,                                              \
      "sizes without bytes; operations take the time of the tier's link.")                                   \
    X(KVF_BACKEND_INSTANT, "instant", instant, 0, "as of the cpu tier: operations take no time.")            \
    X(KVF_BACKEND_OFF, "off", emulated, BACKEND_NONE, "no tier, whatever its capacity.")
#define TRAITS_CPU_BACKEND_LIST(X)                                                                           \
    X(KVF_CPU_MEMORY, "memory", memory, BACKEND_MEMORY, "an arena in the memory of this machine.")           \
    X(KVF_CPU_INSTANT, "instant", instant, 0,                                                                \
      "sizes without bytes; operations take no time: what remains is the time of kvfall itself.")
#define TRAITS_NVME_BACKEND_LIST(X)                                                                          \
    X(KVF_NVME_DRIVE, "drive", nvme, 0, "files on a drive, past the page cache.")
/* Of a store also: the noun and an example of what its url names, and the function in scenario/check.c that
 * holds the url to the rules of its kind. */
#define TRAITS_REMOTE_BACKEND_LIST(X)                                                                        \
    X(KVF_REMOTE_MODELLED, "modelled", emulated, BACKEND_LINK,                                               \
      "sizes without bytes on one shared link; no server is contacted.", NULL, NULL, NULL)                   \
    X(KVF_REMOTE_RESP, "resp", resp, BACKEND_STORE | BACKEND_SERVER,                                         \
      "values on a server that speaks RESP: Redis or Valkey.", "server",                                     \
      "redis://127.0.0.1:6379 or unix:///run/redis.sock", check_server_url)                                  \
    X(KVF_REMOTE_S3, "s3", s3, BACKEND_STORE | BACKEND_SERVER,                                               \
      "objects in a bucket of a server that speaks S3: AWS, SeaweedFS, MinIO, Ceph.", "bucket",              \
      "s3://kvcache or http://127.0.0.1:8333/kvcache", check_bucket_url)                                     \
    X(KVF_REMOTE_FILE, "file", nvme_shared, BACKEND_STORE,                                                   \
      "files in a directory that machines share: NFS, Lustre, GPFS, CephFS.", "directory",                   \
      "file:///mnt/shared", check_directory_url)                                                             \
    X(KVF_REMOTE_NIXL, "nixl", nixl, BACKEND_STORE | BACKEND_SERVER | BACKEND_BUFFERS | BACKEND_STRICT,      \
      "files of a shared directory, or objects of a bucket, through NVIDIA's NIXL.", "directory or bucket",  \
      "file:///mnt/shared or http://127.0.0.1:8333/kvcache", check_nixl_url)                                 \
    X(KVF_REMOTE_MOONCAKE, "mooncake", mooncake, BACKEND_STORE | BACKEND_SERVER | BACKEND_BUFFERS,           \
      "values in a Mooncake store, through its client library.", "Mooncake master",                          \
      "mooncake://127.0.0.1:50051", check_mooncake_url)

#endif
