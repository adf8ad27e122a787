/* Version, compiler and libraries of this build, for --version and the environment of a run. Texts are
 * constant. Any thread. */
#ifndef KVF_BASE_BUILD_H
#define KVF_BASE_BUILD_H

const char *build_version(void); /* "0.6.0", or with the commit of a working tree: "0.6.0+g5d4fffc" */

/* Everything else as pairs of name and text; an entry without a name ends them. */
struct build_fact {
    const char *name;
    const char *text;
};
extern const struct build_fact build_facts[];

/* Why this build has no CUDA, as configure found: "CUDA is off: nvcc was not found"; NULL: it has CUDA. */
const char *build_without_cuda(void);
/* Why it cannot trace the block layer: "BPF is off: libbpf was not found"; NULL: it can. */
const char *build_without_bpf(void);

#endif
