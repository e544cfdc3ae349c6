// SPDX-License-Identifier: Apache-2.0
#include "reference/indexing.h"

#include "reference/loop.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/sorting.h"

namespace pkb::ref {
namespace {

PKB_HD inline std::int64_t checked(std::int64_t index, std::int64_t extent) {
#if defined(__CUDA_ARCH__)
  if (index < 0 || index >= extent) __trap();
#else
  require(index >= 0 && index < extent, "index {} is not within an extent of {}", index, extent);
#endif
  return index;
}

void require_index(const char* what, const Tensor& index) {
  require<DTypeError>(index.dtype() == DType::i64, "{}: indices are int64, not {}", what, index.dtype());
}

int wrapped(const Tensor& a, int dimension) {
  const int d = dimension < 0 ? dimension + a.dim() : dimension;
  require(d >= 0 && d < a.dim(), "dimension {} is not one of a tensor of shape {}", dimension, a.shape());
  return d;
}

/// A contiguous tensor seen as (outer, extent, inner) around one dimension.
struct Split {
  std::int64_t outer, extent, inner;
  Split(const Tensor& a, int d)
      : outer(numel(Shape(a.shape().begin(), a.shape().begin() + d))),
        extent(a.shape()[std::size_t(d)]),
        inner(numel(Shape(a.shape().begin() + d + 1, a.shape().end()))) {}
};

/// Calls `visitor(Type<Unit>{})` with the unsigned type of an element's size.
template <class Visitor>
void visit_bits(DType dtype, Visitor&& visitor) {
  switch (size_of(dtype)) {
    case 1: return visitor(Type<std::uint8_t>{});
    case 2: return visitor(Type<std::uint16_t>{});
    case 4: return visitor(Type<std::uint32_t>{});
    case 8: return visitor(Type<std::uint64_t>{});
  }
}

struct alignas(16) Sixteen {
  std::uint64_t halves[2];
};

/// Calls `visitor(Type<Unit>{}, units)` with the widest unit in which `bytes` from and to these addresses can be moved.
template <class Visitor>
void visit_units(std::int64_t bytes, const void* from, const void* to, Visitor&& visitor) {
  const auto odd = static_cast<std::uint64_t>(bytes) | reinterpret_cast<std::uintptr_t>(from) |
                   reinterpret_cast<std::uintptr_t>(to);
  if (odd % 16 == 0) return visitor(Type<Sixteen>{}, bytes / 16);
  if (odd % 4 == 0) return visitor(Type<std::uint32_t>{}, bytes / 4);
  if (odd % 2 == 0) return visitor(Type<std::uint16_t>{}, bytes / 2);
  visitor(Type<std::uint8_t>{}, bytes);
}

template <class Unit>
struct SelectRows {
  Unit* out;
  const Unit* in;
  const std::int64_t* index;
  std::int64_t chosen, extent, units;  // of a row
  PKB_HD void operator()(std::int64_t i) const {
    const std::int64_t unit = i % units, row = i / units, outer = row / chosen;
    out[i] = in[(outer * extent + checked(index[row - outer * chosen], extent)) * units + unit];
  }
};

template <class Unit>
struct CopyRows {
  Unit* into;
  const Unit* rows;
  const std::int64_t* index;
  std::int64_t extent, units;
  PKB_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / units;
    into[checked(index[row], extent) * units + i % units] = rows[i];
  }
};

/// Element i of a contiguous index to or from the element it names.
template <class Unit, bool kScatters>
struct Take {
  Unit *out, *in;
  const std::int64_t* index;
  std::int64_t chosen, extent, inner;
  PKB_HD void operator()(std::int64_t i) const {
    const std::int64_t outer = i / (chosen * inner);
    const std::int64_t there = (outer * extent + checked(index[i], extent)) * inner + i % inner;
    if constexpr (kScatters)
      out[there] = in[i];
    else
      out[i] = in[there];
  }
};

template <bool kScatters>
void take(const char* what, const Tensor& whole, int dimension, const Tensor& index, const Tensor& part) {
  require_index(what, index);
  const int d = wrapped(whole, dimension);
  Shape expected = whole.shape();
  if (index.dim() == whole.dim()) expected[std::size_t(d)] = index.size(d);
  require(index.shape() == expected, "{} along dimension {}: {} with indices {}", what, dimension, whole.shape(),
          index.shape());
  if (index.numel() == 0) return;
  const Split split(whole, d);
  const Tensor dense = index.contiguous();
  visit_bits(whole.dtype(), [&](auto unit) {
    using Unit = typename decltype(unit)::type;
    Unit *const large = whole.as<Unit>(), *const small = part.as<Unit>();
    loop(whole.place(), index.numel(),
         Take<Unit, kScatters>{kScatters ? large : small, kScatters ? small : large, dense.as<const std::int64_t>(),
                               index.size(d), split.extent, split.inner});
  });
}

struct Fill {
  std::int64_t* out;
  std::int64_t start, step;
  PKB_HD void operator()(std::int64_t i) const { out[i] = start + i * step; }
};

struct Count {
  unsigned long long* bins;
  const std::int64_t* index;
  std::int64_t extent;
  PKB_HD void operator()(std::int64_t i) const {
    unsigned long long* const bin = bins + checked(index[i], extent);
#if defined(__CUDA_ARCH__)
    atomicAdd(bin, 1ull);
#else
    __atomic_fetch_add(bin, 1ull, __ATOMIC_RELAXED);
#endif
  }
};

template <class T>
struct AddRows {
  T* into;
  const T* rows;
  const std::int64_t *order, *begin;  // rows sorted by target, and where each target's begin
  std::int64_t targets, count, inner;
  PKB_HD void operator()(std::int64_t i) const {
    const std::int64_t target = i / inner, column = i % inner;
    const std::int64_t end = target + 1 < targets ? begin[target + 1] : count;
    T sum = into[i];
    for (std::int64_t k = begin[target]; k < end; ++k)
      sum = store<T>(static_cast<Compute<T>>(load(sum) + load(rows[order[k] * inner + column])));
    into[i] = sum;
  }
};

struct Compact {
  std::int64_t* out;
  const std::int64_t* upto;  // how many up to here, this one included
  const std::uint8_t* mask;
  PKB_HD void operator()(std::int64_t i) const {
    if (mask[i]) out[upto[i] - 1] = i;
  }
};

std::int64_t last_of(const Tensor& counts) {
  return counts.numel() == 0 ? 0 : counts.narrow(0, counts.numel() - 1, 1).integers()[0];
}

}  // namespace

Tensor arange(std::int64_t start, std::int64_t end, std::int64_t step, DType dtype, Place place) {
  require(step != 0, "arange: a step of 0");
  const std::int64_t count = std::max<std::int64_t>(0, (end - start + step - (step > 0 ? 1 : -1)) / step);
  const Tensor out = Tensor::empty({count}, DType::i64, place);
  loop(place, count, Fill{out.as<std::int64_t>(), start, step});
  return out.to(dtype);
}

Tensor index_select(const Tensor& a, int dimension, const Tensor& index) {
  require_index("index_select", index);
  require(index.dim() == 1, "index_select: indices of shape {} are not 1-d", index.shape());
  const int d = wrapped(a, dimension);
  const Tensor in = a.contiguous(), chosen = index.contiguous();
  Shape shape = a.shape();
  shape[std::size_t(d)] = index.numel();
  Tensor out = Tensor::empty(std::move(shape), a.dtype(), a.place());
  if (out.numel() == 0) return out;
  const Split split(in, d);
  visit_units(split.inner * static_cast<std::int64_t>(size_of(a.dtype())), in.data(), out.data(),
              [&](auto unit, std::int64_t units) {
                using Unit = typename decltype(unit)::type;
                loop(a.place(), split.outer * index.numel() * units,
                     SelectRows<Unit>{out.as<Unit>(), in.as<const Unit>(), chosen.as<const std::int64_t>(),
                                      index.numel(), split.extent, units});
              });
  return out;
}

Tensor embedding(const Tensor& index, const Tensor& table) {
  require(table.dim() == 2, "embedding: a table of shape {}", table.shape());
  Shape shape = index.shape();
  shape.push_back(table.size(1));
  return index_select(table, 0, index.reshape({index.numel()})).view(std::move(shape));
}

Tensor gather(const Tensor& a, int dimension, const Tensor& index) {
  const Tensor in = a.contiguous();
  Tensor out = Tensor::empty(index.shape(), a.dtype(), a.place());
  take<false>("gather", in, dimension, index, out);
  return out;
}

void scatter_(Tensor& into, int dimension, const Tensor& index, const Tensor& from) {
  require(from.shape() == index.shape(), "scatter_: {} with indices {}", from.shape(), index.shape());
  require<DTypeError>(from.dtype() == into.dtype(), "scatter_: {} into {}", from.dtype(), into.dtype());
  require(into.is_contiguous(), "scatter_: into shape {} with strides {}", into.shape(), into.strides());
  take<true>("scatter_", into, dimension, index, from.contiguous());
}

void index_add_(Tensor& into, const Tensor& index, const Tensor& rows) {
  require_index("index_add_", index);
  require(into.dim() == rows.dim() && into.dim() > 0 && index.shape() == Shape{rows.size(0)} &&
              into.numel() * rows.size(0) == rows.numel() * into.size(0),
          "index_add_: {} rows of {} into {}", index.shape(), rows.shape(), into.shape());
  require<DTypeError>(into.dtype() == rows.dtype(), "index_add_: {} into {}", rows.dtype(), into.dtype());
  require(into.is_contiguous(), "index_add_: into shape {} with strides {}", into.shape(), into.strides());
  if (rows.numel() == 0) return;
  const Sorted sorted = sort(index);
  require(into.place() == Place::cuda ||
              (sorted.values.integers().front() >= 0 && sorted.values.integers().back() < into.size(0)),
          "index_add_: an index is not within an extent of {}", into.size(0));
  const Tensor begin = searchsorted(sorted.values, arange(into.size(0), DType::i64, into.place()));
  const Tensor from = rows.contiguous();
  visit_numeric(into.dtype(), "index_add_", [&](auto type) {
    using T = typename decltype(type)::type;
    loop(into.place(), into.numel(),
         AddRows<T>{into.as<T>(), from.as<const T>(), sorted.indices.as<const std::int64_t>(),
                    begin.as<const std::int64_t>(), into.size(0), rows.size(0), into.numel() / into.size(0)});
  });
}

void index_copy_(Tensor& into, const Tensor& index, const Tensor& rows) {
  require_index("index_copy_", index);
  require(into.dim() == rows.dim() && into.dim() > 0 && index.shape() == Shape{rows.size(0)} &&
              into.numel() * rows.size(0) == rows.numel() * into.size(0),
          "index_copy_: {} rows of {} into {}", index.shape(), rows.shape(), into.shape());
  require<DTypeError>(into.dtype() == rows.dtype(), "index_copy_: {} into {}", rows.dtype(), into.dtype());
  require(into.is_contiguous(), "index_copy_: into shape {} with strides {}", into.shape(), into.strides());
  if (rows.numel() == 0) return;
  const Tensor from = rows.contiguous(), where = index.contiguous();
  visit_units(static_cast<std::int64_t>(from.nbytes()) / rows.size(0), from.data(), into.data(),
              [&](auto unit, std::int64_t units) {
                using Unit = typename decltype(unit)::type;
                loop(into.place(), rows.size(0) * units,
                     CopyRows<Unit>{into.as<Unit>(), from.as<const Unit>(), where.as<const std::int64_t>(),
                                    into.size(0), units});
              });
}

Tensor one_hot(const Tensor& index, std::int64_t classes) {
  require_index("one_hot", index);
  return eq(index.unsqueeze(-1), arange(classes, DType::i64, index.place())).to(DType::i64);
}

Tensor bincount(const Tensor& index, std::int64_t bins) {
  require_index("bincount", index);
  const Tensor dense = index.contiguous(), out = Tensor::zeros({bins}, DType::i64, index.place());
  loop(index.place(), index.numel(), Count{out.as<unsigned long long>(), dense.as<const std::int64_t>(), bins});
  return out;
}

Tensor flatnonzero(const Tensor& mask) {
  const Tensor flags = ne(mask, 0).view({-1}), upto = cumsum(flags);
  const Tensor out = Tensor::empty({last_of(upto)}, DType::i64, mask.place());
  loop(mask.place(), flags.numel(),
       Compact{out.as<std::int64_t>(), upto.as<const std::int64_t>(), flags.as<const std::uint8_t>()});
  return out;
}

Tensor masked_select(const Tensor& a, const Tensor& mask) {
  require(a.shape() == mask.shape(), "masked_select: {} with a mask of {}", a.shape(), mask.shape());
  return index_select(a.reshape({a.numel()}), 0, flatnonzero(mask));
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<std::int64_t> output_size) {
  require_index("repeat_interleave", repeats);
  const Tensor ends = cumsum(repeats);
  const std::int64_t count = output_size ? *output_size : last_of(ends);
  return searchsorted(ends, arange(count, DType::i64, repeats.place()), {.right = true});
}

Tensor flip(const Tensor& a, int dimension) {
  return index_select(a, dimension, arange(a.size(dimension) - 1, -1, -1, DType::i64, a.place()));
}

Tensor tril_mask(std::int64_t rows, std::int64_t columns, std::int64_t diagonal, Place place) {
  return le(arange(columns, DType::i64, place),
            arange(diagonal, rows + diagonal, 1, DType::i64, place).unsqueeze(1));
}

Tensor pad(const Tensor& a, int dimension, std::int64_t before, std::int64_t after) {
  Shape shape = a.shape();
  shape[std::size_t(wrapped(a, dimension))] += before + after;
  Tensor out = Tensor::zeros(std::move(shape), a.dtype(), a.place());
  out.narrow(dimension, before, a.size(dimension)).copy_(a);
  return out;
}

}  // namespace pkb::ref
