// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/virtual_gpu/answers/answer.h"

namespace pkb::virtual_gpu::answers {

/// Those of all libraries. @throws std::runtime_error when one cannot be loaded
std::vector<Answer> all_answers();
/// What the device answers, real or virtual. @throws std::runtime_error with the name of CUDA's error
std::string digest_of(const Answer& answer);
/// That of an answer of zeros.
std::string digest_of_nothing(const Answer& answer);
/// What a real GPU answered, by name; the first line of the file says which.
std::map<std::string, std::string> recorded();

}  // namespace pkb::virtual_gpu::answers
