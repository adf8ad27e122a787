/* Version, compiler and libraries of this build; for --version and the environment of a run. */
#ifndef KVF_BASE_BUILD_H
#define KVF_BASE_BUILD_H

const char *build_version(void);

/* Everything else as pairs of name and text, ended by a nameless one. */
struct build_fact {
    const char *name;
    const char *text;
};
extern const struct build_fact build_facts[];

/* Why this build has no CUDA, as configure found: "CUDA is off: nvcc was not found"; NULL: it has. */
const char *build_without_cuda(void);
/* The same of the trace of the block layer: "BPF is off: libbpf was not found". */
const char *build_without_bpf(void);

#endif
