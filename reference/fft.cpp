// SPDX-License-Identifier: Apache-2.0
#include "reference/fft.h"

#include <fftw3.h>

#include <cmath>
#include <limits>
#include <mutex>

#include "reference/cuda_backend.h"
#include "reference/ops.h"
#include "reference/scalar.h"

namespace pkb::ref {
namespace {

void fft_on_host(const Fft& fft) {
  require(fft.length <= std::numeric_limits<int>::max() && fft.batch <= std::numeric_limits<int>::max(),
          "fft: {} rows of {} are beyond what FFTW takes", fft.batch, fft.length);
  const int n = static_cast<int>(fft.length), rows = static_cast<int>(fft.batch), half = n / 2 + 1;
  auto* const in = reinterpret_cast<double*>(fft.in);
  auto* const out = reinterpret_cast<double*>(fft.out);
  auto* const complex_in = reinterpret_cast<fftw_complex*>(fft.in);
  auto* const complex_out = reinterpret_cast<fftw_complex*>(fft.out);
  // FFTW's planner is not thread-safe. An estimated plan does not touch the data.
  static std::mutex planner;
  fftw_plan plan = nullptr;
  {
    const std::scoped_lock lock(planner);
    switch (fft.kind) {
      case Fft::Kind::forward:
      case Fft::Kind::inverse:
        plan = fftw_plan_many_dft(1, &n, rows, complex_in, nullptr, 1, n, complex_out, nullptr, 1, n,
                                  fft.kind == Fft::Kind::forward ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
        break;
      case Fft::Kind::real_to_complex:
        plan = fftw_plan_many_dft_r2c(1, &n, rows, in, nullptr, 1, n, complex_out, nullptr, 1, half, FFTW_ESTIMATE);
        break;
      case Fft::Kind::complex_to_real:
        plan = fftw_plan_many_dft_c2r(1, &n, rows, complex_in, nullptr, 1, half, out, nullptr, 1, n, FFTW_ESTIMATE);
        break;
    }
  }
  fftw_execute(plan);
  const std::scoped_lock lock(planner);
  fftw_destroy_plan(plan);
}

Tensor transform(Fft::Kind kind, const Tensor& a, std::int64_t n, Shape shape, FftNorm norm) {
  const bool forward = kind == Fft::Kind::forward || kind == Fft::Kind::real_to_complex;
  const double length = static_cast<double>(n);
  const double scale = norm == FftNorm::ortho                          ? 1 / std::sqrt(length)
                       : (norm == FftNorm::forward) == forward ? 1 / length
                                                                       : 1;
  const bool on_host = a.place() == Place::host;
  // cuFFT and FFTW may spoil the input of complex_to_real.
  Tensor in = on_host ? a.to(DType::f64).contiguous() : a.contiguous();
  if (kind == Fft::Kind::complex_to_real && in.data() == a.data()) in = in.clone();
  Tensor out = Tensor::empty(std::move(shape), in.dtype(), a.place());
  if (out.numel() == 0) return out.to(a.dtype());
  const std::int64_t row = kind == Fft::Kind::complex_to_real ? n : out.size(-2) * 2;
  const Fft fft{kind, in.dtype(), n, out.numel() / row, in.data(), out.data()};
  if (on_host)
    fft_on_host(fft);
  else
    cuda_backend().fft(fft);
  return (scale == 1 ? out : out * scale).to(a.dtype());
}

void require_parts(const char* name, const Tensor& a) {
  require<DTypeError>(a.dtype() == DType::f32 || a.dtype() == DType::f64, "{}: takes fp32 or fp64, not {}", name,
                      a.dtype());
}

/// Checks that `a` is (..., n, 2) and gives n.
std::int64_t complex_length(const char* name, const Tensor& a) {
  require_parts(name, a);
  require(a.dim() >= 2 && a.size(-1) == 2, "{}: {} is not (..., n, 2)", name, a.shape());
  return a.size(-2);
}

}  // namespace

Tensor fft(const Tensor& a, FftNorm norm) {
  return transform(Fft::Kind::forward, a, complex_length("fft", a), a.shape(), norm);
}

Tensor ifft(const Tensor& a, FftNorm norm) {
  return transform(Fft::Kind::inverse, a, complex_length("ifft", a), a.shape(), norm);
}

Tensor rfft(const Tensor& a, FftNorm norm) {
  require_parts("rfft", a);
  require(a.dim() > 0, "rfft: a scalar has no dimension");
  Shape shape = a.shape();
  shape.back() = a.size(-1) / 2 + 1;
  shape.push_back(2);
  return transform(Fft::Kind::real_to_complex, a, a.size(-1), std::move(shape), norm);
}

Tensor irfft(const Tensor& a, std::int64_t n, FftNorm norm) {
  require(complex_length("irfft", a) == n / 2 + 1, "irfft: {} is not half of a transform of length {}", a.shape(), n);
  Shape shape = a.shape();
  shape.pop_back();
  shape.back() = n;
  return transform(Fft::Kind::complex_to_real, a, n, std::move(shape), norm);
}

}  // namespace pkb::ref
