#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "scenario/keys.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/build.h"
#include "base/nearest.h"
#include "scenario/keys_rows.h"

#define X(id, name) name,
static const char *const kind_names[] = {KEY_KIND_LIST(X)};
#undef X

const struct key key_table[] = {
    K("name", TEXT, name, "", "", "quickstart", ALWAYS, ALL,
      "Name of the run, on the screen and in the database; without it that of the scenario's file."),
    K("description", TEXT, description, "", "", "\"\"", ALWAYS, ALL,
      "The purpose of the scenario, in a sentence."),
    ROW("include", INCLUDE, 0, 0, 0, "", "", "null", ALWAYS, ALL,
        "File of keys that hold where the scenario has none of its own; relative to the scenario."),

    K("model", MODEL, model, "", "", "required", ALWAYS, ALL,
      "A preset of kvfall models, or a mapping of the keys below that overrides fields of one."),
    K("model.preset", PRESET, model, "", "", "null", ALWAYS, ALL,
      "Preset that the other fields start from; null for a model given in full."),
    K("model.layers", SMALL, model.layers, "layers", "1 to 1000", "of the preset", ALWAYS, ALL,
      "Layers that keep KV, sliding ones included."),
    K("model.kv_heads", SMALL, model.kv_heads, "heads", "0 to 1024", "of the preset", ALWAYS, ALL,
      "KV heads of a layer (GQA, MHA); 0 with MLA."),
    K("model.head_dim", SMALL, model.head_dim, "", "0 to 4096", "of the preset", ALWAYS, ALL,
      "Width of a KV head; 0 with MLA."),
    K("model.dtype", CHOICE, model.dtype, "", (&(MODEL_DTYPE_LIST(DTYPE_WORD))[3]), "of the preset", ALWAYS,
      ALL,
      "Number format of the KV cache, not of the weights; float32, bfloat16 and float16 are accepted too."),
    K("model.sliding_layers", SMALL, model.sliding_layers, "layers", "0 to 1000", "of the preset", ALWAYS,
      ALL, "Layers that keep the last window tokens only."),
    K("model.window", SMALL, model.window, "tokens", "0 to 100000000", "of the preset", ALWAYS, ALL,
      "Tokens that a sliding layer keeps."),
    K("model.kv_lora_rank", SMALL, model.kv_lora_rank, "", "0 to 65536", "of the preset", ALWAYS, ALL,
      "Width of the latent of an MLA model; 0 for GQA and MHA."),
    K("model.rope_head_dim", SMALL, model.rope_head_dim, "", "0 to 4096", "of the preset", ALWAYS, ALL,
      "Rotary part kept beside the latent of an MLA model."),
    K("model.hidden", SMALL, model.hidden, "", "0 to 1000000", "of the preset", ALWAYS, ALL,
      "Width of the model; 0 where unknown."),
    K("model.parameters", NUMBER, model.parameters, "", "0 to 1000000000000000", "of the preset", ALWAYS, ALL,
      "Parameters of the model; 0 where unknown."),
    K("model.active_parameters", NUMBER, model.active_parameters, "", "0 to 1000000000000000",
      "of the preset", ALWAYS, ALL, "Parameters that a token uses in an MoE model; 0 is all of them."),
    K("model.parameters_16bit", NUMBER, model.parameters_16bit, "", "0 to 1000000000000000", "of the preset",
      ALWAYS, ALL, "Parameters that stay at 16 bits when weights have fewer: embeddings and such."),
    K("model.weights", CHOICE, model.weights, "", (&(MODEL_WEIGHTS_LIST(DTYPE_WORD))[3]), "of the preset",
      ALWAYS, ALL, "Number format of the weights; int4 is AWQ or GPTQ, and the KV cache keeps its own."),
    K("model.attention_width", SMALL, model.attention_width, "", "0 to 1000000", "of the preset", ALWAYS, ALL,
      "Attention heads times their width, the mean of key and value for MLA; 0 where unknown."),
    K("model.experts", SMALL, model.experts, "experts", "0 to 100000", "of the preset", ALWAYS, ALL,
      "Experts of an MoE layer; 0 is none."),
    K("model.experts_per_token", SMALL, model.experts_per_token, "experts", "0 to 100000", "of the preset",
      ALWAYS, ALL, "Experts that a token is given to."),
    K("tensor_parallel", SMALL, tensor_parallel, "ranks", "1 to 1024", "1", ALWAYS, ALL,
      "Ranks that share the KV heads; sizes are those of one rank."),
    K("mode", CHOICE, mode, "", CHOICES(SCENARIO_MODE_LIST), "real", ALWAYS, ALL,
      "Move real bytes, or run on a virtual clock."),
    K("seed", INTEGER, seed, "", "0 to 9223372036854775807", "42", ALWAYS, ALL, "Same seed, same requests."),
    K("submission", BOOLEAN, submission, "", "", "false", ALWAYS, ALL,
      "Flag the run as not comparable unless it keeps the rules of a submission, and list what it changes."),

    K("run.duration", DURATION, run.duration_ns, "", "1ms to 10000h", "60s", ALWAYS, ALL,
      "Length of the measured part."),
    K("run.warmup", DURATION, run.warmup_ns, "", "0 to 10000h", "5s", ALWAYS, ALL,
      "Time before the measured part in which nothing counts."),
    K("run.interval", DURATION, run.interval_ns, "", "10ms to 1h", "1s", ALWAYS, ALL, "Sampling period."),
    K("run.max_requests", INTEGER, run.max_requests, "requests", "0 to 1000000000000", "0", ALWAYS, ALL,
      "End the run when that many requests are done; 0 for no limit."),
    K("run.max_written", SIZE, run.max_written_bytes, "bytes", "0 to 1024TiB", "0", NVME_REAL, ALL,
      "End the run when that much has been written to nvme; 0 for no limit."),
    K("run.block_trace", CHOICE, run.block_trace, "", CHOICES(SCENARIO_BLOCK_TRACE_LIST), "auto", NVME_REAL,
      ALL, "Follow requests through the kernel's block layer by BPF; auto is where the kernel permits it."),
    K("run.trials", INTEGER, run.trials, "runs", "1 to 1000", "1", ALWAYS, ALL, "Repetitions of the run."),
    K("run.precondition", SIZE, run.precondition_bytes, "bytes", "auto, or 0 to 1024TiB", "0", NVME, ALL,
      "Volume written to nvme before the clock; auto is twice its capacity."),
    K("run.prepopulate", NUMBER, run.prepopulate, "", "0 to 1", "0", ALWAYS, ALL,
      "Part of every tier that is filled with entries before the clock."),
    K("run.speed", NUMBER, run.speed, "", "0 to 1000000000", "0", SIMULATE, ALL,
      "How many times faster than real time a simulation goes; 0 is as fast as it can."),
    CAPACITY("gpu", GPU, "auto, or 0 to 1024TiB", "2GiB",
             "Size of the gpu tier, headroom included; 0 is off, auto is what compute.gpu leaves for KV."),
    BACKEND("gpu", GPU, "auto", ALWAYS, CUDA_TIER,
            "The device behind the tier; auto takes the one that is there."),
    K("tiers.gpu.devices", DEVICES, gpu.devices, "", "0 to 63", "[0]", VRAM, CUDA,
      "GPUs by number, or all: entries take turns among them, or are shared by tensor_parallel."),
    K("tiers.gpu.read", CHOICE, gpu.read, "", CHOICES(SCENARIO_GPU_READ_LIST), "hbm", VRAM, CUDA,
      "Where a read ends: in device memory, or copied to the host."),
    K("tiers.gpu.write", CHOICE, gpu.write, "", CHOICES(SCENARIO_GPU_WRITE_LIST), "generate", VRAM, CUDA,
      "Where written bytes come from: generated on the device, or copied from the host."),
    K("tiers.gpu.layout", CHOICE, gpu.layout, "", CHOICES(SCENARIO_GPU_LAYOUT_LIST), "contiguous", VRAM, CUDA,
      "An entry in one piece, or in one per layer."),
    TIER_KEYS("gpu", GPU, "55GB/s", "55GB/s", "10us", "full"),
    SERVICE("gpu", GPU),
    SERVICE_OWN("gpu", GPU),
    CAPACITY("cpu", CPU, "0 to 1024TiB", "4GiB", "Size of the cpu tier, headroom included; 0 is off."),
#if TRAITS_CPU_BACKEND_LIST(TRAITS_ONE) > 1
    BACKEND("cpu", CPU, "memory", CPU_REAL, ALL, "Where the bytes of the tier are."),
#endif
    K("tiers.cpu.huge_pages", BOOLEAN, cpu.huge_pages, "", "", "false", CPU_REAL, ALL,
      "Ask for huge pages for the arena."),
    TIER_KEYS("cpu", CPU, "20GB/s", "20GB/s", "1us", "half"),
    SERVICE("cpu", CPU),
    SERVICE_REST("cpu", CPU, "Time of a copy from memory by a worker that rested",
                 "Time of a copy to memory by a worker that rested"),
    SERVICE_REUSE("cpu", CPU),

    CAPACITY("nvme", NVME, "auto, or 0 to 1024TiB", "auto",
             "Size of the nvme tier; auto is 90 % of the free space and leaves at least 2 GiB; 0 is off."),
#if TRAITS_NVME_BACKEND_LIST(TRAITS_ONE) > 1
    BACKEND("nvme", NVME, "drive", NVME_REAL, ALL, "Where the bytes of the tier are."),
#endif
    K("tiers.nvme.path", PATHS, nvme.path, "", "", ".", NVME_REAL, ALL,
      "Directory, or several, under which the tier makes its own; entries spread over them."),
    K("tiers.nvme.layout", CHOICE, nvme.layout, "", CHOICES(SCENARIO_NVME_LAYOUT_LIST), "files", NVME_REAL,
      ALL, "One file per entry, or extents in one file."),
    K("tiers.nvme.io_size", SIZE, nvme.io_size, "bytes", "4KiB to 64MiB", "1MiB", STAGED, ALL,
      "Chunk of an operation at the device, and of a transfer to a remote server; a multiple of 4KiB."),
    K("tiers.nvme.io_depth", INTEGER, nvme.io_depth, "operations", "1 to 1024", "32", STAGED, ALL,
      "Chunks that a worker keeps in flight."),
    K("tiers.nvme.direct", BOOLEAN, nvme.direct, "", "", "true", NVME_REAL, ALL,
      "Bypass the page cache where the file system can."),
    K("tiers.nvme.sync", CHOICE, nvme.sync, "", CHOICES(SCENARIO_SYNC_LIST), "none", NVME_REAL, ALL,
      "Whether a write is flushed to the device before it counts as done."),
    K("tiers.nvme.direct_to_gpu", CHOICE, nvme.direct_to_gpu, "", CHOICES(SCENARIO_DIRECT_TO_GPU_LIST), "off",
      NVME_VRAM, CUDA, "Move between device and GPU without a copy in host memory."),
    TIER_KEYS("nvme", NVME, "7GB/s", "5GB/s", "80us", "half"),
    SERVICE("nvme", NVME),
    DRIVE("nvme", NVME),

    CAPACITY("remote", REMOTE, "0 to 1024TiB", "64GiB",
             "Size of the remote tier, a store in the network; 0 is off."),
    BACKEND("remote", REMOTE, "modelled", OF_TIER, ALL,
            "The store behind the tier: a modelled link, a server, or a directory."),
    K("tiers.remote.url", URL, remote.url, "", "", "null", REMOTE_REAL, ALL,
      "The store: redis://HOST:PORT/DATABASE, rediss:// with TLS, unix://PATH; s3://BUCKET, https://HOST:PORT/BUCKET/PREFIX; "
      "file:///DIRECTORY; mooncake://HOST:PORT; a user and password in it are never stored."),
    K("tiers.remote.region", TEXT, remote.region, "", "", "null", REMOTE_S3, ALL,
      "Region of the bucket; null is that of AWS_REGION, else us-east-1."),
    K("tiers.remote.layout", CHOICE, remote.layout, "", CHOICES(SCENARIO_REMOTE_LAYOUT_LIST), "plain",
      REMOTE_RESP, ALL, "How entries are named and cut into values."),
    K("tiers.remote.chunk_tokens", INTEGER, remote.chunk_tokens, "tokens", "1 to 1048576", "256",
      REMOTE_VALUES, ALL, "Tokens of a value; an entry is as many values as it needs."),
    K("tiers.remote.connections", INTEGER, remote.connections, "connections", "1 to 1024", "8", REMOTE_VALUES,
      ALL, "Connections of all workers together, at least one each; a command is in flight on each."),
    K("tiers.remote.key_prefix", TEXT, remote.key_prefix, "", "", "kvfall:", REMOTE_SERVER, ALL,
      "Prefix of all names of values, in layout plain."),
    K("tiers.remote.ttl", DURATION, remote.ttl_ns, "", "0 to 3650d", "0s", REMOTE_RESP, ALL,
      "How long a value lives on the server after its write; 0 for ever."),
    K("tiers.remote.evicted_by", CHOICE, remote.evicted_by, "", CHOICES(SCENARIO_EVICTED_BY_LIST), "client",
      REMOTE_SERVER, ALL,
      "The side that evicts: the cache, which deletes entries, or the server's own policy."),
    K("tiers.remote.lookup", CHOICE, remote.lookup, "", CHOICES(SCENARIO_LOOKUP_LIST), "exists",
      REMOTE_VALUES, ALL, "Whether the server is asked for the values of an entry before they are read."),
    K("tiers.remote.timeout", DURATION, remote.timeout_ns, "", "1ms to 1h", "10s", ANY_SERVER, ALL,
      "Time without progress after which a command or a lost server is given up."),
    K("tiers.remote.insecure", BOOLEAN, remote.insecure, "", "", "false", ANY_SERVER, ALL,
      "Accept any certificate from a server that is reached through TLS."),
    K("tiers.remote.share_prompts", BOOLEAN, remote.share_prompts, "", "", "false", REMOTE_SERVER, ALL,
      "Whether shared prompts that another run has put on the server are read from there, not recomputed."),
    TIER_KEYS("remote", REMOTE, "1200MB/s", "1200MB/s", "200us", "full"),
    SERVICE("remote", REMOTE),
    K("tiers.remote.lookup_time", DURATION, tier[KVF_TIER_REMOTE].service.lookup_ns, "", "0 to 10s", "0",
      LINK, ALL, "Part of the latency that the lookup before a read takes."),
    K("tiers.remote.lookup_behind", DURATION, tier[KVF_TIER_REMOTE].service.lookup_behind_ns, "", "0 to 10s",
      "0", LINK, ALL, "How much each value under way adds to that part."),
    SERVICE_FIRST("remote", REMOTE),
    SERVICE_STALLS("remote", REMOTE, "store"),
    SERVICE_REST("remote", REMOTE, "Time of a read from a directory that rested",
                 "Time of a write to a directory that rested"),
    SERVICE_LIST("remote", REMOTE, "worker_time", worker_us, "us", "0 to 1000000000",
                 "Processor time that a worker takes for each MiB it reads, and for each it writes."),

    K("cache.granularity", CHOICE, cache.granularity, "", CHOICES(SCENARIO_GRANULARITY_LIST), "request",
      ALWAYS, ALL, "The unit of an entry: a request's context, or a block of tokens."),
    K("cache.block_tokens", INTEGER, cache.block_tokens, "tokens", "1 to 1048576", "16", BLOCK, ALL,
      "Tokens per block; by default those of a trace's source, if it has blocks."),
    K("cache.touch_order", CHOICE, cache.touch_order, "", CHOICES(SCENARIO_TOUCH_LIST), "last_first", BLOCK,
      ALL, "Order in which a request touches its blocks; last first lets leaves go before roots."),
    K("cache.placement", CHOICE, cache.placement, "", CHOICES(SCENARIO_PLACEMENT_LIST), "waterfall", MOVES,
      ALL, "Where a new entry goes and what makes room for it."),
    K("cache.eviction", CHOICE, cache.eviction, "", CHOICES(TRAITS_POLICY_LIST), "lru", EVICTION, ALL,
      "Which entry leaves a tier first."),
    KF("cache.promotion", CHOICE, cache.promotion, cache.promotion_set,
       CHOICES_OR_NULL(SCENARIO_PROMOTION_LIST), "null", MOVES, ALL,
       "When an entry that was read goes up; null is never, with placement inclusive on_hit."),
    K("cache.on_hit", CHOICE, cache.on_hit, "", CHOICES(SCENARIO_ON_HIT_LIST), "load", BELOW, ALL,
      "Handling of blocks found below the gpu tier."),
    K("cache.make_room", CHOICE, cache.make_room, "", CHOICES(SCENARIO_MAKE_ROOM_LIST), "inline", ALWAYS, ALL,
      "Whether room is made when a write needs it, or ahead of need as well."),
    K("cache.low_watermark", NUMBER, cache.low_watermark, "", "0 to 1", "0.85", BACKGROUND, ALL,
      "Part of a tier's usable bytes at which making room in the background ends."),
    K("cache.high_watermark", NUMBER, cache.high_watermark, "", "0 to 1", "0.95", BACKGROUND, ALL,
      "Part of a tier's usable bytes beyond which room is made in the background."),
    K("cache.admission", CHOICE, cache.admission, "", CHOICES(SCENARIO_ADMISSION_LIST), "always", ADMITS, ALL,
      "Which new entries are let in."),
    K("cache.admission_limit", SIZE, cache.admission_limit_bytes, "bytes", "1 to 1PiB", "1GiB", SIZE_LIMIT,
      ALL, "Largest entry that size_limit lets in."),
    K("cache.ttl", DURATION, cache.ttl_ns, "", "1us to 30d", "60s", POLICY, ALL,
      "Life of an entry without an access under ttl."),
    K("cache.priorities", LIST, cache.priority, "", "0 to 16 members", "[]", POLICY, ALL,
      "Rules of policy priority; the first that fits an entry holds."),
    PRIORITY("priority", INTEGER, priority, "", "0 to 100", "required", "The least falls first."),
    PRIORITY("cause", CHOICE, cause, "", CHOICES(SCENARIO_WRITER_LIST), "any",
             "The kind of request that writes it."),
    PRIORITY("class", TEXT, klass, "", "", "\"\"", "QoS class of the request that wrote it; empty for any."),
    PRIORITY("duration", DURATION, duration_ns, "", "0 to 30d", "0s",
             "How long it holds after the last access; 0 for ever."),
    K("cache.headroom", NUMBER, cache.headroom, "", "0 to 0.95", "0.2", HEADROOM, ALL,
      "Part of a gpu or cpu tier that is kept free."),
    K("cache.verify", CHOICE, cache.verify, "", CHOICES(SCENARIO_VERIFY_LIST), "none", BYTES, ALL,
      "The check of a read: nothing, each block's stamp, or every byte."),
    K("cache.read_target", CHOICE, cache.read_target, "", CHOICES(SCENARIO_READ_TARGET_LIST), "host", LANDING,
      CUDA, "Where reads of the cpu and nvme tiers end."),
    K("cache.lookup_cost", DURATION, cache.lookup_cost_ns, "", "0 to 1h", "0s", REQUESTS, ALL,
      "Time of every request before it looks anything up, such as that of an index service."),
    K("workload.source", CHOICE, workload.source, "", CHOICES(TRAITS_SOURCE_LIST), "synthetic", ALWAYS, ALL,
      "Where requests come from."),
    K("workload.path", PATH, workload.path, "", "", "null", FILE, ALL,
      "File of the source, or for agentic a directory of such files, relative to the working directory."),
    K("workload.tokenizer", PATH, workload.tokenizer, "", "", "chars4", SOURCE, ALL,
      "How text is counted: chars4, one token for 4 characters, or a file of counts or ranks."),
    K("workload.limit", INTEGER, workload.limit, "rows", "0 to 1000000000000", "0", FILE, ALL,
      "Conversations or rows taken from the file; 0 for all."),
    K("workload.scale", NUMBER, workload.scale, "", "above 0 to 1000", "1", FILE, ALL,
      "How many times each session of a trace with times is played: 10 is ten times the users, 0.1 a tenth."),
    K("workload.users", INTEGER, workload.users, "users", "1 to 10000000", "50", USERS, ALL,
      "Simulated people who think, ask and wait."),
    KF("workload.arrival.process", CHOICE, workload.arrival.process, workload.arrival.process_set,
       CHOICES_OR_NULL(SCENARIO_ARRIVAL_LIST), "null", ALWAYS, ALL,
       "When the next request comes; null is trace for rows with times, else closed."),
    K("workload.arrival.rate", NUMBER, workload.arrival.rate, "requests/s", "0 to 1000000000", "0", RATE, ALL,
      "Requests a second of the whole source."),
    K("workload.arrival.cv", NUMBER, workload.arrival.cv, "", "0 to 1000", "1", GAMMA, ALL,
      "Coefficient of variation of the gaps of gamma arrivals; 0 for fixed gaps."),
    K("workload.arrival.speedup", NUMBER, workload.arrival.speedup, "", "0 to 1000000", "1", TIMES, ALL,
      "How many times faster than recorded a trace is played; 0 plays it without delay."),
    K("workload.arrival.batch", INTEGER, workload.arrival.batch, "requests", "1 to 1000000000", "1", RATE,
      ALL, "Requests that arrive together; the rate counts each."),
    K("workload.arrival.cycles", INTEGER, workload.arrival.cycles, "", "0 to 1000000", "1", FILE, ALL,
      "How often a file is played, with new keys each time; 0 without end."),
    K("workload.personas", LIST, workload.persona, "", "1 to 16 members", DEFAULT_PERSONAS, SYNTHETIC, ALL,
      "Kinds of users."),
    PERSONA("name", TEXT, name, "", "", "required", "Name of the kind."),
    PERSONA("share", NUMBER, share, "", "0 to 1000000000", "1", "Weight of the kind among all users."),
    PERSONA("context", TOKENS, context, "tokens", "1 to 100000000", "[512, 4096]",
            "Context of a user's requests, drawn once per user."),
    PERSONA("generate", TOKENS, generate, "tokens", "0 to 100000000", "[50, 200]",
            "Tokens generated per request, drawn once per user; 0 generates none."),
    PERSONA_OF("think", TIMES, think_ns, "", "0 to 24h", "[100ms, 500ms]", THINK,
               "Think time, drawn once per user; each varies by 20 %."),
    PERSONA("spread", NUMBER, spread, "", "above 0 to 1", "0.25",
            "Each request draws between this part of its user's sizes and all of them; 1 keeps them fixed."),
    K("workload.conversation.end_probability", NUMBER, workload.conversation.end_probability, "", "0 to 1",
      "0.2", TURN_ENDS, ALL, "Probability that a turn is the last of its conversation."),
    K("workload.conversation.max_turns", INTEGER, workload.conversation.max_turns, "turns", "1 to 1000000",
      "50", TURN_COUNT, ALL, "Most turns of a conversation."),
    K("workload.conversation.reads", CHOICE, workload.conversation.reads, "", CHOICES(SCENARIO_READS_LIST),
      "all", TURN_READS, ALL, "Earlier turns that a turn reads."),
    K("workload.prefix.probability", NUMBER, workload.prefix.probability, "", "0 to 1", "0.2", PREFIX, ALL,
      "Probability that a conversation starts with a shared prompt."),
    K("workload.prefix.prompt_tokens", LENGTHS, workload.prefix.prompt_tokens, "tokens", "1 to 100000000",
      "[512, 1024, 2048]", PROMPTS, ALL, "Lengths of the shared prompts, or one length for all."),
    K("workload.prefix.count", INTEGER, workload.prefix.count, "prompts", "1 to 1024", "3", PROMPTS, ALL,
      "Number of shared prompts; by default one for each length."),
    K("workload.prefix.pick", CHOICE, workload.prefix.pick, "", CHOICES(SCENARIO_PICK_LIST), "uniform", PICK,
      ALL, "How a conversation picks its prompt."),
    K("workload.prefix.on_top", BOOLEAN, workload.prefix.on_top, "", "", "false", PROMPTS, ALL,
      "Whether a prompt is added to the contexts that are drawn, instead of being the beginning of the first."),
    K("workload.rag.documents", INTEGER, workload.rag.documents, "documents", "auto, or 0 to 1000000", "0",
      DOCUMENTS, ALL, "Documents that are ingested; auto is ten, 0 is no RAG."),
    K("workload.rag.probability", NUMBER, workload.rag.probability, "", "0 to 1", "0.1", RAG, ALL,
      "Probability that a request reads chunks."),
    K("workload.rag.chunk_tokens", INTEGER, workload.rag.chunk_tokens, "tokens", "1 to 1048576", "512", RAG,
      ALL, "Tokens of a chunk."),
    K("workload.rag.top_k", INTEGER, workload.rag.top_k, "chunks", "1 to 1000", "5", CHUNKS, ALL,
      "Chunks read by a request."),
    K("workload.rag.distribution", CHOICE, workload.rag.distribution, "", CHOICES(SCENARIO_PICK_LIST), "zipf",
      CHUNKS, ALL, "How documents, and chunks of a document, are picked."),
    ROW("workload.rag.tokens", TOKENS, offsetof(struct scenario, workload.rag.tokens),
        SIZE_OF(scenario, workload.rag.tokens), offsetof(struct scenario, workload.rag.tokens_set), "tokens",
        "null, or 1 to 100000000", "null", RAG, ALL,
        "Length of a document; null is [4000, 12000], or [1024, 4096] for models of 64 layers or width 8192 or more."),
    K("workload.rag.max_documents", INTEGER, workload.rag.max_documents, "documents", "0 to 1000000", "0",
      RAG, ALL, "Documents kept at a time; 0 for all."),
    K("workload.rag.ingest", CHOICE, workload.rag.ingest, "", CHOICES(SCENARIO_RAG_INGEST_LIST), "before",
      RAG, ALL, "When documents are ingested: before the clock, or while requests arrive."),
    K("workload.phase", CHOICE, workload.phase, "", CHOICES(SCENARIO_WORKLOAD_PHASE_LIST), "both", REQUESTS,
      ALL, "Parts of a request that are carried out."),
    K("workload.decode.entries", INTEGER, workload.decode.entries, "entries", "1 to 1000000", "10", STORED,
      ALL, "Entries per user that are written before a run of phase decode."),
    K("workload.decode.batch_tokens", INTEGER, workload.decode.batch_tokens, "tokens", "1 to 1000000000",
      "32", REREADS, ALL, "Tokens generated per read of the entry."),
    K("workload.decode.max_context", INTEGER, workload.decode.max_context, "tokens", "0 to 1000000000", "0",
      PREFILL_ONLY, ALL, "Contexts of that many tokens and more are prefill only; 0 for no such limit."),

    COMPUTE_KEYS,

    K("qos.scheduler", CHOICE, qos.scheduler, "", CHOICES(SCENARIO_SCHEDULER_LIST), "strict", CLASSES, ALL,
      "Order between classes: the first always first, or with aging."),
    K("qos.aging", DURATION, qos.aging_ns, "", "1us to 24h", "1s", AGING, ALL,
      "Waiting that makes up for one class of urgency."),
    K("qos.latency", CHOICE, qos.latency, "", CHOICES(SCENARIO_QOS_LATENCY_LIST), "ttft", ALWAYS, ALL,
      "Latency that the targets are about."),
    KF("qos.classes", LIST, qos.klass, qos.classes_set, "1 to 8 members", DEFAULT_CLASSES, ALWAYS, ALL,
       "Service classes, the most urgent first."),
    CLASS("name", TEXT, name, "", "", "required", "Name of the class; each is different."),
    CLASS("share", NUMBER, share, "", "0 to 1000000000", "1", "Weight of the class among all users."),
    CLASS("p95", DURATION, p95_ns, "", "null, or 1us to 24h", "null",
          "Target of the 95th percentile; null for that of the next higher percentile, if there is one."),
    CLASS("p99", DURATION, p99_ns, "", "null, or 1us to 24h", "null",
          "Target of the 99th percentile; null for none."),
    CLASS("p999", DURATION, p999_ns, "", "null, or 1us to 24h", "null",
          "Target of the 99.9th percentile; null for none."),
    CLASS("p9999", DURATION, p9999_ns, "", "null, or 1us to 24h", "null",
          "Target of the 99.99th percentile; null for none."),

    K("engine.workers", INTEGER, engine.workers, "threads", "auto, or 1 to 256", "auto", ALWAYS, ALL,
      "Threads that carry out tier operations; auto is the usable CPUs, 2 to 16."),
    K("engine.slots", INTEGER, engine.slots, "requests", "auto, or 1 to 100000", "auto", ALWAYS, ALL,
      "Requests in service at a time; auto is 256, on a modelled GPU 4 times compute.max_batch if that is more."),
    K("engine.queue_limit", INTEGER, engine.queue_limit, "requests", "1 to 100000000", "100000", ALWAYS, ALL,
      "Requests that may wait; further arrivals are dropped and counted."),
    K("engine.max_concurrent_writes", INTEGER, engine.max_concurrent_writes, "writes", "0 to 100000", "0",
      ALWAYS, ALL, "Entry writes in flight at a time; 0 for no limit."),
    K("engine.room_wait", DURATION, engine.room_wait_ns, "", "0 to 1h", "10s", ALWAYS, ALL,
      "How long a write waits for room in a tier before it falls through to the next lower one; in the last tier its request fails; "
      "a lookup waits as long for an entry that another request is writing, and then misses (lookups_given_up)."),
    K("engine.staging", SIZE, engine.staging_bytes, "bytes", "auto, or 0 to 1TiB", "auto", STAGED, ALL,
      "Pool of aligned buffers; auto is workers x io_depth x io_size, at most 512 MiB."),
    K("engine.noise", SIZE, engine.noise_bytes, "bytes", "1MiB to 64GiB", "64MiB", BYTES, ALL,
      "Random bytes that payloads are cut from."),
    K("engine.cpus", CPUS, engine.cpus, "", "", "null", REAL, ALL,
      "CPUs that workers are bound to, such as \"0-3,8\", with quotes inside braces; null for any."),
    K("engine.timer_late", DURATION, engine.timer_late_ns, "", "0 to 10s", "0", SIMULATE, ALL,
      "Mean delay before a sleeping thread sees that a request arrives."),
    K("engine.timer_late_spread", FIGURES, engine.timer_spread, "", "0 to 1000000", "null", SIMULATE, ALL,
      "Mean delay of equal slices of its distribution, relative to the overall mean."),
    K("engine.wake", DURATION, engine.wake_ns, "", "0 to 10s", "0", SIMULATE, ALL,
      "Mean delay before a sleeping worker sees the request handed to it."),
    K("engine.wake_spread", FIGURES, engine.wake_spread, "", "0 to 1000000", "null", SIMULATE, ALL,
      "Mean delay of equal slices of its distribution, relative to the overall mean."),

    FLEET_KEYS,
    K("autoscaler.mode", CHOICE, autoscaler.mode, "", CHOICES(SCENARIO_AUTOSCALER_LIST), "off", ALWAYS, ALL,
      "The goal that steers the number of users."),
    K("autoscaler.signal", CHOICE, autoscaler.signal, "", CHOICES(SCENARIO_AUTOSCALER_SIGNAL_LIST), "targets",
      SCALED_QOS, ALL, "The condition of mode qos: every class inside its P95 target, or the saturation."),
    K("autoscaler.objective", CHOICE, autoscaler.objective, "", CHOICES(SCENARIO_AUTOSCALER_OBJECTIVE_LIST),
      "throughput_tok_s", SCALED_CAPACITY, ALL, "The quantity that mode capacity maximises."),
    K("autoscaler.target_saturation", NUMBER, autoscaler.target_saturation, "", "0 to 1", "0.8", SATURATION,
      ALL, "Highest saturation that signal saturation allows."),
    K("autoscaler.min_users", INTEGER, autoscaler.min_users, "users", "1 to 1000000", "1", SCALED, ALL,
      "Smallest number of users."),
    K("autoscaler.max_users", INTEGER, autoscaler.max_users, "users", "1 to 1000000", "10000", SCALED, ALL,
      "Largest number of users."),
    K("autoscaler.settle", DURATION, autoscaler.settle_ns, "", "0 to 1h", "3s", SCALED, ALL,
      "Time after a change of users that is not judged."),
    K("autoscaler.stage", DURATION, autoscaler.stage_ns, "", "10ms to 24h", "10s", SCALED, ALL,
      "How long each number of users is judged."),
    K("autoscaler.hold", DURATION, autoscaler.hold_ns, "", "0 to 24h", "20s", SCALED_QOS, ALL,
      "Time that the answer has to hold before it counts as found; at its default longer, until contexts average out."),
    K("autoscaler.cooldown", DURATION, autoscaler.cooldown_ns, "", "0 to 24h", "10s", SCALED_QOS, ALL,
      "Time after a breach that is not judged, if longer than settle."),
    K("autoscaler.growth", NUMBER, autoscaler.growth, "", "above 1 to 10", "2", SCALED_QOS, ALL,
      "Factor by which mode qos grows."),
    K("autoscaler.backoff", NUMBER, autoscaler.backoff, "", "above 0 to 0.99", "0.7", SCALED_QOS, ALL,
      "Factor by which mode qos steps back."),
    K("autoscaler.precision", NUMBER, autoscaler.precision, "", "0.001 to 0.5", "0.05", SCALED, ALL,
      "How exactly the number of users is sought, as a part of it."),
    K("autoscaler.tolerance", NUMBER, autoscaler.tolerance, "", "0 to 0.5", "0.02", SCALED_CAPACITY, ALL,
      "Difference between stages that mode capacity ignores."),
    K("autoscaler.weights.latency", NUMBER, autoscaler.weight_latency, "", "0 to 1000", "0.5", ALWAYS, ALL,
      "Weight of latency against its target in the saturation."),
    K("autoscaler.weights.queue", NUMBER, autoscaler.weight_queue, "", "0 to 1000", "0.25", ALWAYS, ALL,
      "Weight of the growth of the queue in the saturation."),
    K("autoscaler.weights.device", NUMBER, autoscaler.weight_device, "", "0 to 1000", "0.25", ALWAYS, ALL,
      "Weight of the device's utilisation in the saturation."),
    K("autoscaler.when_found", CHOICE, autoscaler.when_found, "", CHOICES(SCENARIO_AUTOSCALER_FOUND_LIST),
      "hold", SCALED, ALL, "What follows the answer: hold runs on with it, stop ends the run."),
    K("assess.profile", CHOICE, assess.profile, "", CHOICES(SCENARIO_PROFILE_LIST), "latency", ALWAYS, ALL,
      "Set of criteria that the run is held against."),
    K("assess.nvme_tok_s", NUMBER, assess.nvme_tok_s, "tok/s", "0 to 1000000000000", "0", THROUGHPUT, ALL,
      "Lowest nvme_tok_s that passes in profile throughput; with 0 anything above 0 does."),
    K("assess.criteria", LIST, assess.criterion, "", "0 to 32 members", "[]", ALWAYS, ALL,
      "Further criteria."),
    CRITERION("metric", TEXT, metric, "", "required", "A metric of the results."),
    CRITERION("op", CHOICE, op, CHOICES(SCENARIO_OP_LIST),
              "<=", "How the metric is compared with the value; in quotes."),
    CRITERION("value", NUMBER, value, "-1e300 to 1e300", "0", "The threshold, in the metric's unit."),
    RANK_KEYS,
    ROW("sweep", SWEEP, 0, 0, 0, "", "", "null", ALWAYS, ALL,
        "The plan of kvfall sweep: null, or a mapping of the keys below."),
    KF("sweep.profile", CHOICE, sweep.profile, sweep.on, CHOICES_OR_NULL(SCENARIO_SWEEP_LIST), "null", ALWAYS,
       ALL, "Kind of sweep; null is keys where sweep.keys or sweep.variants has any, else none."),
    K("sweep.keys", AXES, sweep.keys, "", "1 to 8 keys", "{}", SWEPT_KEYS, ALL,
      "Keys of the scenario, each with a list of values or {from, to, points, scale: linear | log}."),
    K("sweep.variants", VARIANTS, sweep.variants, "", "1 to 8 groups", "{}", SWEPT_VARIANTS, ALL,
      "Groups of variants, {GROUP: {NAME: {KEY: VALUE, ...}, ...}, ...}; the sweep takes one of each group."),
    K("sweep.combine", CHOICE, sweep.combine, "", CHOICES(SCENARIO_COMBINE_LIST), "cartesian", SWEPT_KEYS,
      ALL,
      "Every value with every other, or the first with the first, the second with the second and so on."),
    K("sweep.baseline", TEXT, sweep.baseline, "", "", "\"\"", SWEPT_RUNS, ALL,
      "The reference for differences: GROUP=NAME for a variant; with keys also a point, from 1; with rates "
      "also a run of the database."),
    K("sweep.metrics", TEXT, sweep.metrics, "", "", "\"\"", SWEPT_RUNS, ALL,
      "Metrics that the table shows, with commas between them; the best is judged by the first."),
    K("sweep.points", INTEGER, sweep.points, "points", "2 to 1000", "10", SWEPT_POINTS, ALL,
      "Number of runs of profile rates, or of capacities of profile miss_ratio where sweep.capacities is null."),
    K("sweep.capacities", SIZES, sweep.capacity_bytes, "bytes", "4KiB to 1024TiB", "null", SWEPT_SIZES, ALL,
      "Capacities of the table; null spreads sweep.points of them over the working set."),
    K("sweep.policies", POLICIES, sweep.policies, "", CHOICES(TRAITS_POLICY_LIST), "all", SWEPT_SIZES, ALL,
      "Eviction policies of the table."),
    KF("sweep.tier", CHOICE, sweep.tier, sweep.tier_set, CHOICES_OR_NULL(KVF_TIER_LIST), "null", SWEPT_SIZES,
       ALL, "The only tier with a varying capacity; null is the fastest that is on."),
    K("sweep.sample", NUMBER, sweep.sample, "", "0 to 1", "0", SWEPT_SIZES, ALL,
      "Part of the entries that policies are tried on; 0 takes all of them, or a sample where there are many."),
    K("sweep.find", TEXT, sweep.find, "", "", "\"\"", SOUGHT, ALL,
      "Key to minimise, such as tiers.cpu.capacity."),
    K("sweep.between", BOUNDS, sweep.between, "", "", "null", SOUGHT, ALL,
      "Smallest and largest value of that key, such as [1GiB, 1TiB]."),
    K("sweep.target.metric", TEXT, sweep.target.metric, "", "", "\"\"", SOUGHT, ALL,
      "The metric that has to be reached."),
    K("sweep.target.op", CHOICE, sweep.target.op, "", CHOICES(SCENARIO_OP_LIST), ">=", SOUGHT, ALL,
      "How the metric is compared with the value; in quotes."),
    K("sweep.target.value", NUMBER, sweep.target.value, "", "-1e300 to 1e300", "0", SOUGHT, ALL,
      "The threshold, in the metric's unit."),
    K("sweep.precision", NUMBER, sweep.precision, "", "0.001 to 1", "0.05", SOUGHT, ALL,
      "How exactly the value is sought, as a part of it."),
};
const size_t key_count = sizeof key_table / sizeof key_table[0];
_Static_assert(sizeof key_table / sizeof key_table[0] <= KEY_MAX, "arrays beside the table hold every key");

const char *key_type(enum key_kind kind) {
    return kind_names[kind];
}

int key_index(const char *name) {
    for (size_t i = 0; i < key_count; i++)
        if (strcmp(key_table[i].pub.name, name) == 0) return (int)i;
    return -1;
}

int key_of_tier(enum kvf_tier tier, const char *name) {
    char key[64];
    (void)snprintf(key, sizeof key, "tiers.%s.%s", tier_name(tier), name);
    return key_index(key);
}

bool key_is_section(const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < key_count; i++)
        if (strncmp(key_table[i].pub.name, name, len) == 0 && key_table[i].pub.name[len] == '.') return true;
    return false;
}

bool key_in_list(const struct key *k) {
    return strstr(k->pub.name, "[]") != NULL;
}

const char *key_absence(const struct key *k) {
    static const char *const of_cuda[] = {"tiers.gpu.", "tiers.nvme.direct_to_gpu", "cache.read_target"};
    for (size_t i = 0; i < sizeof of_cuda / sizeof *of_cuda; i++)
        if (strncmp(k->pub.name, of_cuda[i], strlen(of_cuda[i])) == 0) return build_without_cuda();
    return NULL;
}

bool key_word(const char *words, int index, char *out, size_t len) {
    for (int i = 0;; i++) {
        const char *end = strstr(words, " | ");
        size_t n = end ? (size_t)(end - words) : strlen(words);
        if (i == index) {
            if (n >= len) n = len - 1;
            memcpy(out, words, n);
            out[n] = '\0';
            return true;
        }
        if (!end) return false;
        words = end + 3;
    }
}

int key_word_index(const char *words, const char *word) {
    char one[48];
    for (int i = 0; key_word(words, i, one, sizeof one); i++)
        if (strcmp(one, word) == 0) return i;
    return -1;
}

const char *key_nearest_word(const char *words, const char *word, char *out, size_t len) {
    char one[48];
    unsigned least = (unsigned)(strnlen(word, 48) + 1) / 2;
    bool found = false;

    for (int i = 0; key_word(words, i, one, sizeof one); i++) {
        unsigned d = nearest_distance(word, one);
        if (d > least || (found && d == least)) continue;
        least = d;
        found = key_word(words, i, out, len);
    }
    return found ? out : NULL;
}

#define AT(member) offsetof(struct scenario, member)
#define LIST_OF(list, member, type, ...)                                                                     \
    { #list, AT(member), sizeof(struct scenario_##type), AT(list), __VA_ARGS__ }
static const struct key_list lists[] = {
    LIST_OF(workload.personas, workload.persona, persona, 1, SCENARIO_PERSONAS_MAX, "name", true),
    LIST_OF(qos.classes, qos.klass, class, 1, KVF_CLASSES_MAX, "name", true),
    LIST_OF(cache.priorities, cache.priority, priority, 0, SCENARIO_PRIORITIES_MAX, "priority", false),
    LIST_OF(fleet.outages, fleet.outage, outage, 0, SCENARIO_OUTAGES_MAX, "at", false),
    LIST_OF(assess.criteria, assess.criterion, criterion, 0, SCENARIO_CRITERIA_MAX, "metric", false)};

const struct key_list *key_list(const struct key *k) {
    const struct key_list *shape = lists;
    while (strcmp(k->pub.name, shape->name) != 0) shape++;
    return shape;
}

/* The part of a dotted name behind the last dot. */
static const char *last_part(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* How far a mistyped name is from a key, in hundredths of an edit. The right last part in the wrong
 * section counts for little, and the less the nearer the section; ranks are seldom meant. */
static unsigned name_distance(const char *name, const char *key) {
    unsigned edits = nearest_distance(name, key),
             moved = edits + (strncmp(key, "ranks.", 6) != 0 ? 150 : 160);
    if (strcmp(last_part(name), last_part(key)) != 0 || edits * 100 < moved) return edits * 100;
    return moved;
}

static void offer(const char *name, const char *candidate, const char **best, unsigned *least) {
    unsigned d = name_distance(name, candidate);
    if (d > *least || (*best && d == *least)) return;
    *least = d;
    *best = candidate;
}

const char *scenario_keys_nearest(const char *name) {
    static const char *const sections[] = {
        "run",
        "tiers",
        "tiers.gpu",
        "tiers.cpu",
        "tiers.nvme",
        "tiers.remote",
        "cache",
        "workload",
        "assess",
        "workload.arrival",
        "workload.conversation",
        "workload.prefix",
        "workload.rag",
        "workload.decode",
        "compute",
        "qos",
        "engine",
        "fleet",
        "fleet.index",
        "autoscaler",
        "autoscaler.weights",
        "ranks",
        "sweep.target",
    };
    const char *best = NULL;
    unsigned edits = (unsigned)strlen(last_part(name)) / 3 + 1, least = edits < 2 ? 200 : edits * 100;

    for (size_t i = 0; i < key_count; i++) offer(name, key_table[i].pub.name, &best, &least);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) offer(name, sections[i], &best, &least);
    return best;
}

static struct scenario_key public_keys[KEY_MAX];

static void public_keys_fill(void) {
    for (size_t i = 0; i < key_count; i++) {
        public_keys[i] = key_table[i].pub;
        public_keys[i].type = key_type(key_table[i].kind);
    }
}

const struct scenario_key *scenario_keys(size_t *count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, public_keys_fill);
    *count = key_count;
    return public_keys;
}
