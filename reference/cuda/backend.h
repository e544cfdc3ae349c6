// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/cuda_backend.h"

namespace pkb::ref {

void gemm_on_cuda(const Gemm& gemm);
void fft_on_cuda(const Fft& fft);
std::unique_ptr<Communicator> make_nccl_communicator(MPI_Comm comm);

}  // namespace pkb::ref
