#pragma once

// TANDEM_SIMD_CLONES before a function definition compiles it with and without AVX2, and the loader picks the version
// for the processor at hand: one binary suits all. Only the function itself gains, and what is inlined into it.
//
// Not under the sanitizers: the loader picks before their runtime is set up, and crashes in instrumented code.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define TANDEM_SIMD_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define TANDEM_SIMD_CLONES
#endif
