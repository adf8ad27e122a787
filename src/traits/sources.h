/* Workload sources, a row each. The operations of a row are `source_NAME` in workload/ or workload/format/.
 */
#ifndef KVF_TRAITS_SOURCES_H
#define KVF_TRAITS_SOURCES_H

enum traits_source_caps {
    SOURCE_FILE = 1,       /* reads workload.path */
    SOURCE_INFERS = 2,     /* its requests are inference requests; else each is an operation on an entry */
    SOURCE_PERSONAS = 4,   /* sizes and think times are drawn from personas */
    SOURCE_USERS = 8,      /* users ask turn after turn and wait for answers, whatever the arrivals */
    SOURCE_PROMPTS = 16,   /* requests may begin with a shared prompt, and retrieve chunks of documents */
    SOURCE_THINKS = 32,    /* has think times: arrivals may be paced */
    SOURCE_TIMES = 64,     /* has times of arrival: arrivals may be the trace's */
    SOURCE_BY_TIMES = 128, /* and are by default */
    SOURCE_RECORDED = 256, /* its times are pauses of recorded users; in an open loop it has no users */
    SOURCE_IN_TURN = 512,  /* without times each request is done before the next starts */
    SOURCE_KNOWN = 1024,   /* every access is known beforehand */
    SOURCE_BLOCKS = 2048   /* its files may say how many tokens their blocks have */
};

enum { SOURCE_CONTEXT_MAX = 16384 }; /* tokens that contexts of sharegpt are cut at */

/* id; word in scenarios; NAME of its operations; capabilities; tokens of a block whose ids its files carry,
 * 0: they carry none; most tokens of a context, 0: not known beforehand; the key that only it reads, or NULL;
 * a word of a file's first line by which `kvfall trace` knows it, in any case, others behind "|", or NULL:
 * the first row that fits counts; what its files are, for the manual. */
#define TRAITS_SOURCE_LIST(X)                                                                                \
    X(KVF_SOURCE_SYNTHETIC, "synthetic", synthetic,                                                          \
      SOURCE_INFERS | SOURCE_PERSONAS | SOURCE_USERS | SOURCE_PROMPTS | SOURCE_THINKS, 0, 0, NULL, NULL,     \
      "no file: users of the personas below hold conversations.")                                            \
    X(KVF_SOURCE_BAILIAN, "bailian", bailian,                                                                \
      SOURCE_FILE | SOURCE_INFERS | SOURCE_TIMES | SOURCE_BY_TIMES | SOURCE_KNOWN, 16, 0, NULL, "chat_id",   \
      "JSON lines with timestamp (seconds), input_length, output_length and hash_ids, as the traces of "     \
      "Qwen's users that Alibaba publishes have them (qwen-bailian-usagetraces-anon). Granularity must be "  \
      "block; a block has 16 tokens.")                                                                       \
    X(KVF_SOURCE_MOONCAKE, "mooncake", mooncake,                                                             \
      SOURCE_FILE | SOURCE_INFERS | SOURCE_TIMES | SOURCE_BY_TIMES | SOURCE_KNOWN | SOURCE_BLOCKS, 512, 0,   \
      NULL, "hash_ids",                                                                                      \
      "JSON lines with timestamp, input_length, output_length and hash_ids. Granularity must be block; a "   \
      "block has 512 tokens unless cache.block_tokens says otherwise, which block_size, if a row has it, "   \
      "must agree with. A row's class is used where qos.classes has it; session_id and model are for "       \
      "kvfall trace.")                                                                                       \
    X(KVF_SOURCE_AZURE, "azure", azure,                                                                      \
      SOURCE_FILE | SOURCE_INFERS | SOURCE_PROMPTS | SOURCE_TIMES | SOURCE_BY_TIMES, 0, 0, NULL,             \
      "contexttokens", "CSV with TIMESTAMP, ContextTokens and GeneratedTokens.")                             \
    X(KVF_SOURCE_BURSTGPT, "burstgpt", burstgpt,                                                             \
      SOURCE_FILE | SOURCE_INFERS | SOURCE_PROMPTS | SOURCE_TIMES | SOURCE_BY_TIMES, 0, 0, NULL,             \
      "request tokens",                                                                                      \
      "CSV whose header names Timestamp (seconds), Request tokens and Response tokens, in any order and "    \
      "with other columns between them, as all releases of BurstGPT have them. A row without response "      \
      "tokens is a failed call: it is rejected and counted as failed.")                                      \
    X(KVF_SOURCE_SHAREGPT, "sharegpt", sharegpt,                                                             \
      SOURCE_FILE | SOURCE_INFERS | SOURCE_USERS | SOURCE_PROMPTS, 0, SOURCE_CONTEXT_MAX,                    \
      "workload.tokenizer", "conversations", "JSON: conversations with their texts, as below.")              \
    X(KVF_SOURCE_AGENTIC, "agentic", agentic,                                                                \
      SOURCE_FILE | SOURCE_INFERS | SOURCE_THINKS | SOURCE_TIMES | SOURCE_RECORDED, 64, 0, NULL, NULL,       \
      "JSON: recorded conversations of coding agents, one in a file, as below. Granularity must be block; "  \
      "a block has 64 tokens.")                                                                              \
    X(KVF_SOURCE_OPS, "ops", ops, SOURCE_FILE | SOURCE_TIMES | SOURCE_IN_TURN | SOURCE_KNOWN, 0, 0, NULL,    \
      "op,key|timestamp,operation",                                                                          \
      "CSV with op, key and tokens, where op is write or read, or the I/O trace of a run, as below.")

#endif
