# SPDX-License-Identifier: Apache-2.0
include(GoogleTest)

# Settings of every target of ours; the libraries we use are system includes and keep their warnings.
add_library(pkb_options INTERFACE)
target_include_directories(pkb_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(pkb_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Werror>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-unknown-pragmas>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-unused-parameter -Werror=all-warnings>)
if(PKB_SANITIZE)
  target_compile_options(pkb_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PKB_SANITIZE} -fno-omit-frame-pointer>)
  target_link_options(pkb_options INTERFACE -fsanitize=${PKB_SANITIZE})
endif()

# pkb_library(name SOURCES a.cpp ... LIBS x ...): a static library of a room, with our warnings.
function(pkb_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC pkb_options ${arg_LIBS})
endfunction()

# Most of a test's compile time is these headers and the optimiser, of which a test needs neither twice nor at all.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "int main() {}\n" @ONLY)
# An executable, as tests are: GCC takes precompiled headers only where -fPIE agrees.
add_executable(pkb_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cpp)
target_link_libraries(pkb_test_headers PRIVATE pkb_options fmt::fmt nlohmann_json::nlohmann_json GTest::gmock)
target_precompile_headers(pkb_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <fmt/format.h> <nlohmann/json.hpp>)
set(pkb_test_optimisation $<$<COMPILE_LANGUAGE:CXX>:-O0>)
target_compile_options(pkb_test_headers PRIVATE ${pkb_test_optimisation})
function(pkb_compile_as_test name)
  target_compile_options(${name} PRIVATE ${pkb_test_optimisation})
  target_link_libraries(${name} PRIVATE fmt::fmt)
  target_precompile_headers(${name} REUSE_FROM pkb_test_headers)
endfunction()

# For a test that computes for seconds by itself, or measures: the linker takes inline functions of headers from a test's
# objects for libraries, too.
function(pkb_optimise_test_sources)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# pkb_test(name SOURCES x_test.cpp ... LIBS ... [RANKS n] [TIMEOUT seconds] [LABELS label] [LOCK name] [ALONE]): a GoogleTest
# program beside the code. With RANKS it has its own main and runs under mpirun; otherwise every case becomes a CTest test,
# labelled `unit` or as told; with LOCK one of them runs at a time, with ALONE nothing beside it.
function(pkb_test name)
  cmake_parse_arguments(arg "ALONE" "RANKS;TIMEOUT;LOCK" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE pkb_options ${arg_LIBS} GTest::gmock)
  pkb_compile_as_test(${name})
  if(arg_RANKS)
    target_link_libraries(${name} PRIVATE GTest::gtest)
    add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} -n ${arg_RANKS} --oversubscribe --allow-run-as-root
             --bind-to none --mca mpi_yield_when_idle 1 --mca btl self,vader
             --mca btl_vader_single_copy_mechanism none
             --mca btl_vader_backing_directory ${PROJECT_BINARY_DIR} --mca plm isolated $<TARGET_FILE:${name}>)
    set_tests_properties(${name} PROPERTIES LABELS "mpi;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "OPENBLAS_NUM_THREADS=1")
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    # gtest_discover_tests would take a second label for the name of the next property.
    set(label unit)
    if(arg_LABELS)
      set(label ${arg_LABELS})
    endif()
    list(LENGTH label labels)
    if(NOT labels EQUAL 1)
      message(FATAL_ERROR "${name}: one label, not ${label}")
    endif()
    if(arg_LOCK)
      set(lock RESOURCE_LOCK ${arg_LOCK})
    endif()
    if(arg_ALONE)
      set(lock RUN_SERIAL TRUE)
    endif()
    gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
                         PROPERTIES TIMEOUT ${arg_TIMEOUT} ${lock} LABELS ${label})
  endif()
endfunction()

# pkb_judged_test(name SOURCES ... LIBS ...): a test that runs `pkb` as its users do, PKB_EXECUTABLE. Its suites Virtual
# run in CI, EachWay (the same in more ways) are `long`, Gpu need one.
function(pkb_judged_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE pkb_options pkb_test_process nlohmann_json::nlohmann_json ${arg_LIBS}
                        GTest::gmock GTest::gtest_main)
  pkb_compile_as_test(${name})
  add_dependencies(${name} product)
  target_compile_definitions(${name} PRIVATE PKB_EXECUTABLE="$<TARGET_FILE:pkb>" PKB_SOURCE="${PROJECT_SOURCE_DIR}"
                             PKB_TEST_CACHE="${PROJECT_BINARY_DIR}/test-cache")
  foreach(suite Virtual=slow EachWay=long Gpu=gpu)
    string(REPLACE "=" ";" suite ${suite})
    list(POP_FRONT suite part)
    gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 TEST_FILTER "${part}/*"
                         TEST_LIST ${name}_${part} PROPERTIES TIMEOUT 180 LABELS ${suite})
  endforeach()
endfunction()

# pkb_bench(name SOURCES x_bench.cpp LIBS ...): a Google Benchmark program, where the library is installed.
function(pkb_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT benchmark_FOUND)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE pkb_options ${arg_LIBS} benchmark::benchmark)
endfunction()

# pkb_fuzz(name SOURCES x_fuzz.cpp CORPUS folder LIBS ...): LLVMFuzzerTestOneInput as a libFuzzer program in the preset
# `fuzz`; in every build a test, `<name>_replay`, gives it the files of its corpus.
function(pkb_fuzz name)
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LIBS" ${ARGN})
  pkb_test(${name}_replay SOURCES ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/harness/virtual_gpu/ptx/fuzz/replay_test.cpp
           LIBS ${arg_LIBS})
  target_compile_definitions(${name}_replay PRIVATE PKB_FUZZ_CORPUS="${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS}")
  if(PKB_FUZZ)
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE pkb_options ${arg_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()
