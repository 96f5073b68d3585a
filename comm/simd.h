#pragma once

// TANDEM_SIMD_CLONES before a function compiles it once for every generation of processors that matters; the loader
// picks one, so a single binary suits every machine. What it calls must be inlined to gain from it.
//
// Empty under sanitizers (the loader would pick before their runtime is up, and crash) and where it does not exist.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define TANDEM_SIMD_CLONES [[gnu::target_clones("default", "avx2")]]
#else
#define TANDEM_SIMD_CLONES
#endif
