// SPDX-License-Identifier: Apache-2.0
#include "harness/integrity/attacks.h"

namespace pkb::integrity {
namespace {

constexpr Attack kAttacks[] = {
    // Answers without work.
    {"replays_by_pointer", "wrong_result", "stale"},
    {"replays_by_fingerprint", "wrong_result"},
    {"replays_by_call_count", "wrong_result", "never written"},
    {"computes_in_setup", "wrong_result"},
    {"batches_iterations", "wrong_result", "never written"},
    {"works_in_teardown", "wrong_result", "never written"},
    {"spoils_with_nan", "wrong_result", "got nan"},
    {"spoils_with_nan", "wrong_result", "got inf", 3},
    {"errs_once", "wrong_result", "out: 1 of [0-9]+ elements"},
    {"aliases_a_peers_output", "wrong_result", "never written"},
    {"changes_a_peers_input", "wrong_result", "changed"},
    {"scans_memory", "wrong_result", "never written"},
    // Work at the wrong time. The worker waits for every stream; what comes later is too late.
    {"works_on_another_stream", "race|correct"},
    {"works_in_a_thread", "wrong_result|disqualified"},
    {"overwrites_late", "wrong_result|disqualified"},
    {"forks_a_writer", "correct"},
    {"answers_at_exit", "correct"},
    // Clocks and symbols of its own process, which the judge does not look at.
    {"interposes_symbols", "correct"},
    {"patches_got", "correct"},
    // The control socket.
    {"forges_an_answer", "disqualified", "spoke to the judge on its own in run"},
    {"forges_at_load", "disqualified", "spoke to the judge on its own in loading"},
    {"takes_over", "wrong_result|disqualified", "never written|spoke to the judge"},
    {"blames_the_environment", "crash|disqualified"},
    {"floods_the_socket", "disqualified", "spoke to the judge on its own in run"},
    {"sends_descriptors", "disqualified", "spoke to the judge on its own in run"},
    {"writes_to_all_descriptors", "disqualified", "spoke to the judge on its own in run"},
    {"closes_the_socket", "crash", "in run"},
    // What a worker may see and do: all that is denied does not happen, and what is left of the candidate is
    // right.
    {"reads_processes", "correct"},
    {"touches_processes", "correct"},
    {"opens_segments", "correct"},
    {"reads_files", "correct"},
    {"connects", "correct"},
    {"loads_libraries", "correct"},
    {"weakens_itself", "correct"},
    {"fills_the_disk", "correct"},
    {"bombs_with_forks", "correct"},
    {"bombs_with_memory", "correct|crash"},
    {"bombs_with_threads", "correct"},
    {"exhausts_descriptors", "crash"},
    {"leaves_things_behind", "correct"},
    // The end of the process, in every way and phase.
    {"exits_at_load", "crash", "in loading"},
    {"exits_in_setup", "crash", "status 0 in setup", 1},
    {"exits_in_setup", "crash", "signal 9", 5},
    {"exits_in_run", "crash", "status 0 in run", 1},
    {"exits_in_run", "crash", "status 0 in run", 2},
    {"exits_in_run", "crash", "status 0 in run", 3},
    {"exits_in_run", "crash", "signal 6", 4},
    {"exits_in_run", "crash", "signal 9", 5},
    {"exits_in_teardown", "crash", "status 0 in teardown", 2},
    {"exits_in_teardown", "crash", "signal 6", 4},
    // No end.
    {"loops_at_load", "timeout", "loading has not finished", 2, true},
    {"loops_on_the_host", "timeout", "setup has not finished", 1, true},
    {"loops_on_the_host", "timeout", "run has not finished", 2},
    {"loops_on_the_host", "timeout", "teardown has not finished", 3, true},
    {"loops_on_the_device", "timeout", "setup has not finished", 1, true},
    {"loops_on_the_device", "timeout", "run has not finished", 2},
    {"loops_on_the_device", "timeout", "teardown has not finished", 3, true},
    {"stops_itself", "timeout", "run has not finished"},
};

}  // namespace

std::span<const Attack> attacks() { return kAttacks; }

}  // namespace pkb::integrity
