// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

#include "reference/testing/ranks.h"

namespace pkb::ref::testing {

void with_ranks(int ranks, const ContextOptions& options, const std::function<void(Context&)>& body) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ASSERT_LE(ranks, size) << "run under mpirun with more ranks";
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
  if (comm == MPI_COMM_NULL) return;
  try {
    Context ctx(comm, options);
    body(ctx);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d of %d: %s\n", rank, ranks, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_free(&comm);
}

namespace {

/// On ranks other than 0: failures only, with the rank.
class FailurePrinter : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank, result.file_name(), result.line_number(),
                 result.message());
  }
};

}  // namespace
}  // namespace pkb::ref::testing

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new pkb::ref::testing::FailurePrinter);
  }
  int failed = RUN_ALL_TESTS(), any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
