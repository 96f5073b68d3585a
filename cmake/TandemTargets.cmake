# How every target of this project is made: one static library a folder, and tests.

add_library(tandem_build_flags INTERFACE)
target_compile_options(tandem_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror -fno-omit-frame-pointer)
target_link_libraries(tandem_build_flags INTERFACE Threads::Threads)
target_link_options(tandem_build_flags INTERFACE -Wl,--as-needed)
# TANDEM_SIMD_CLONES before a function definition compiles it with and without AVX2, and the loader picks the version
# for the processor at hand: one binary suits all. Only the function itself gains, and what is inlined into it. Empty
# with sanitizers: the loader picks before their runtime is set up, and crashes in instrumented code.
set(simd_clones "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT TANDEM_SANITIZE)
  set(simd_clones "[[gnu::target_clones(\"default\", \"avx2\")]]")
endif()
target_compile_definitions(tandem_build_flags INTERFACE "TANDEM_SIMD_CLONES=${simd_clones}")
if(TANDEM_SANITIZE)
  target_compile_options(tandem_build_flags INTERFACE -fsanitize=${TANDEM_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(tandem_build_flags INTERFACE -fsanitize=${TANDEM_SANITIZE})
  if(TANDEM_SANITIZE MATCHES "address|thread")
    # GCC 12 reports uninitialized values inside its own headers when it instruments them.
    target_compile_options(tandem_build_flags INTERFACE -Wno-maybe-uninitialized -Wno-tsan)
  endif()
endif()

# tandem_library(FOLDER SOURCES file... [PUBLIC lib...] [PRIVATE lib...])
#
# Makes the static library tandem_FOLDER. Its headers are reached as "FOLDER/x.h", and only by targets that
# link it: each folder has an include directory of its own, so an include against the arrows does not compile.
function(tandem_library folder)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(include_root ${CMAKE_BINARY_DIR}/include/${folder})
  file(MAKE_DIRECTORY ${include_root})
  if(NOT EXISTS ${include_root}/${folder})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${include_root}/${folder} SYMBOLIC)
  endif()
  add_library(tandem_${folder} STATIC ${arg_SOURCES})
  target_include_directories(tandem_${folder} PUBLIC ${include_root})
  target_link_libraries(tandem_${folder} PUBLIC ${arg_PUBLIC} PRIVATE tandem_build_flags ${arg_PRIVATE})
endfunction()

# tandem_test(NAME SOURCES file... LIBRARIES lib... [LABELS label...] [ONE_THREAD])
#
# One Catch2 program and one ctest entry; sources are relative to tests/. What is labelled slow is not built with
# sanitizers, and what runs on ONE_THREAD is left out with the thread sanitizer, which has nothing to see there.
function(tandem_test name)
  cmake_parse_arguments(arg "ONE_THREAD" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(arg_ONE_THREAD AND TANDEM_SANITIZE STREQUAL thread)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  if(TANDEM_SANITIZE AND slow IN_LIST arg_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_link_libraries(${name} PRIVATE tandem_build_flags tandem_test_main ${arg_LIBRARIES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  # At this level GCC 12 takes short strings for overrun where they are not.
  target_compile_options(${name} PRIVATE -O1 -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
  target_precompile_headers(${name} REUSE_FROM tandem_test_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} --durations no --rng-seed time)
  # Ends a hang; a busy machine and a sanitizer together take less.
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}")
endfunction()
