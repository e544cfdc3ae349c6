// SPDX-License-Identifier: Apache-2.0
#include "reference/random.h"

#include <cmath>
#include <limits>

#include "reference/cuda_check.h"
#include "reference/device.h"
#include "reference/normal.h"
#include "reference/parallel.h"
#include "reference/philox.h"

namespace pkb::ref {
namespace {

/// The counter and key of block `block` of a tensor.
struct Source {
  std::uint64_t seed;
  std::uint32_t stream, trial;  // stream: tensor and rank
  PKB_HD Words4 operator()(std::uint64_t block) const {
    return philox4x32(
        {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream, trial}},
        static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  }
};

// One random word to one element.

template <class T>
struct Normal {
  double mean, stddev;
  PKB_HD T operator()(std::uint32_t word) const {
    // Centres of 2^32 equal parts of (0, 1): symmetric, never 0 or 1.
    return store<T>(mean + stddev * normal_quantile((word + 0.5) * 0x1p-32));
  }
};

template <class T>
struct Uniform {
  double low, range;
  PKB_HD T operator()(std::uint32_t word) const { return store<T>(low + range * (word * 0x1p-32)); }
};

template <class T>
struct Integers {
  std::int64_t low;
  std::uint64_t count;  // at most 2^32
  PKB_HD T operator()(std::uint32_t word) const {
    const std::int64_t value = low + static_cast<std::int64_t>((word * count) >> 32);
    if constexpr (!std::is_integral_v<T>)
      // The lowest bit hardly has a say in the product's upper half.
      if (value == 0) return store<T>((word & 1u) ? -0.0 : 0.0);
    return store<T>(value);
  }
};

/// Elements of 1, 2, 4 or 8 bytes made from a block: one word each, or as many as fit with `Bits`.
template <class T, class Make>
struct PerWord {
  static constexpr int kPerBlock = 4;
  Make make;
  PKB_HD T operator()(const Words4& words, int i) const { return make(words.word[i]); }
};

template <class T>
struct Bits {
  static constexpr int kPerBlock = 16 / sizeof(T);
  PKB_HD T operator()(const Words4& words, int i) const {
    if constexpr (sizeof(T) == 8)
      return words.word[2 * i] | static_cast<std::uint64_t>(words.word[2 * i + 1]) << 32;
    else
      return static_cast<T>(words.word[i * sizeof(T) / 4] >> (8 * (i * sizeof(T) % 4)));
  }
};

template <class T, class Make>
PKB_HD void fill_block(T* out, std::int64_t count, const Source& source, const Make& make,
                       std::int64_t block) {
  const Words4 words = source(static_cast<std::uint64_t>(block));
  for (int i = 0; i < Make::kPerBlock; ++i)
    if (const std::int64_t at = block * Make::kPerBlock + i; at < count) out[at] = make(words, i);
}

template <class T, class Make>
__global__ void fill_blocks(T* out, std::int64_t count, Source source, Make make) {
  const std::int64_t block = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (block * Make::kPerBlock < count) fill_block(out, count, source, make, block);
}

template <class T, class Make>
void fill(Tensor& tensor, const Source& source, const Make& make) {
  const std::int64_t count = tensor.numel(), blocks = (count + Make::kPerBlock - 1) / Make::kPerBlock;
  T* const out = tensor.as<T>();
  if (tensor.place() == Place::cuda) {
    constexpr int kThreads = 256;
    fill_blocks<<<static_cast<unsigned>((blocks + kThreads - 1) / kThreads), kThreads, 0, current_stream()>>>(
        out, count, source, make);
    return check(cudaGetLastError(), "random_fill");
  }
  parallel_for(blocks, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) fill_block(out, count, source, make, block);
  });
}

template <class T, class Make>
void fill_words(Tensor& tensor, const Source& source, const Make& make) {
  fill<T>(tensor, source, PerWord<T, Make>{make});
}

void fill_integers(Tensor& tensor, const Source& source, const Distribution& distribution) {
  const double low = std::ceil(distribution.low), count = std::floor(distribution.high) - low + 1;
  require<DTypeError>(count >= 1 && count <= 0x1p32 && std::fabs(low) <= 0x1p53,
                      "random integers from {} to {}: want 1 to 2^32 of them, within 2^53", distribution.low,
                      distribution.high);
  visit_numeric(tensor.dtype(), "random integers", [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>)
      require<DTypeError>(low >= double(std::numeric_limits<T>::min()) &&
                              low + count - 1 <= double(std::numeric_limits<T>::max()),
                          "random integers from {} to {} do not fit into {}", low, low + count - 1,
                          tensor.dtype());
    fill_words<T>(tensor, source,
                  Integers<T>{static_cast<std::int64_t>(low), static_cast<std::uint64_t>(count)});
  });
}

void fill_bits(Tensor& tensor, const Source& source) {
  switch (size_of(tensor.dtype())) {
    case 1:
      return fill<std::uint8_t>(tensor, source, Bits<std::uint8_t>{});
    case 2:
      return fill<std::uint16_t>(tensor, source, Bits<std::uint16_t>{});
    case 4:
      return fill<std::uint32_t>(tensor, source, Bits<std::uint32_t>{});
    case 8:
      return fill<std::uint64_t>(tensor, source, Bits<std::uint64_t>{});
  }
}

}  // namespace

void random_fill(Tensor& tensor, const Distribution& distribution, const RandomKey& key) {
  require(tensor.is_contiguous(), "random_fill: a tensor of shape {} with strides {} is not contiguous",
          tensor.shape(), tensor.strides());
  if (tensor.numel() == 0) return;
  const Source source{key.seed, std::uint32_t{key.tensor} | std::uint32_t{key.rank} << 16, key.trial};
  switch (distribution.kind) {
    case Distribution::Kind::normal:
      return visit_floating(tensor.dtype(), "normal random numbers", [&](auto type) {
        using T = typename decltype(type)::type;
        fill_words<T>(tensor, source, Normal<T>{distribution.mean, distribution.stddev});
      });
    case Distribution::Kind::uniform:
      return visit_floating(tensor.dtype(), "uniform random numbers", [&](auto type) {
        using T = typename decltype(type)::type;
        fill_words<T>(tensor, source, Uniform<T>{distribution.low, distribution.high - distribution.low});
      });
    case Distribution::Kind::integers:
      return fill_integers(tensor, source, distribution);
    case Distribution::Kind::bits:
      return fill_bits(tensor, source);
  }
}

}  // namespace pkb::ref
