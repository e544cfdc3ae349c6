// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/tensor.h"

/// Discrete Fourier transforms with torch.fft's names and signs. There is no complex dtype: a complex tensor
/// is a real one whose last dimension has extent 2, as torch.view_as_real gives. fp32 or fp64, any length,
/// cuFFT or FFTW (in fp64, rounded at the end). The transformed dimension is the last one, or the last but the pair.
namespace pkb::ref {

/// Which direction is divided by what: `backward` the inverse by n, `ortho` both by sqrt(n), `forward` the
/// forward one by n.
enum class FftNorm : std::uint8_t { backward, ortho, forward };

/// (..., n, 2) -> (..., n, 2): sum over h of a[h] exp(-2 pi i h k / n).
Tensor fft(const Tensor& a, FftNorm norm = FftNorm::backward);
/// (..., n, 2) -> (..., n, 2), with the other sign.
Tensor ifft(const Tensor& a, FftNorm norm = FftNorm::backward);
/// (..., n) -> (..., n / 2 + 1, 2), the half that determines the other.
Tensor rfft(const Tensor& a, FftNorm norm = FftNorm::backward);
/// (..., n / 2 + 1, 2) -> (..., n); imaginary parts of what must be real do not matter.
Tensor irfft(const Tensor& a, std::int64_t n, FftNorm norm = FftNorm::backward);
/// The product of complex tensors (..., 2), which broadcast.
Tensor complex_multiply(const Tensor& a, const Tensor& b);

}  // namespace pkb::ref
