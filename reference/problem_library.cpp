// SPDX-License-Identifier: Apache-2.0
#include "reference/problem_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace pkb::ref {

std::filesystem::path ProblemLibrary::default_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "problems";
}

ProblemLibrary::ProblemLibrary(std::string_view folder, const std::filesystem::path& libraries) {
  const std::filesystem::path path = libraries / (std::string(folder) + ".so");
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw std::runtime_error("problem " + std::string(folder) + " has no compiled reference " +
                             path.string() + "; build the project");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    throw std::runtime_error("cannot load the reference of problem " + std::string(folder) + ": " +
                             dlerror());
  x_entry = static_cast<const ProblemEntry*>(dlsym(library, "pkb_problem"));
  if (!x_entry)
    throw std::runtime_error(path.string() +
                             " has no symbol pkb_problem; it was not built by problems/CMakeLists.txt");
}

}  // namespace pkb::ref
