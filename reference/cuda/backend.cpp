// SPDX-License-Identifier: Apache-2.0
#include "reference/cuda/backend.h"

extern "C" [[gnu::visibility("default")]] const pkb::ref::CudaBackend pkb_cuda_backend{
    .gemm = pkb::ref::gemm_on_cuda, .fft = pkb::ref::fft_on_cuda, .nccl = pkb::ref::make_nccl_communicator};
