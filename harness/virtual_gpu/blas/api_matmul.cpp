// SPDX-License-Identifier: Apache-2.0
// cuBLASLt: products described by objects. What the objects hold stands in their own opaque bytes.
#include <cublasLt.h>

#include <cstring>
#include <map>
#include <vector>

#include "harness/virtual_gpu/blas/call.h"

using namespace pkb::virtual_gpu;
using namespace pkb::virtual_gpu::blas;

namespace {

/// In a cublasLtMatmulDescOpaque_t.
struct Description {
  std::int32_t compute = CUBLAS_COMPUTE_32F, scale = CUDA_R_32F, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N, op_c = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  std::int32_t bias_type = -1, sm_count = 0;
  std::int8_t fast_accumulation = 0;
  const void* bias = nullptr;
  std::int64_t bias_stride = 0;
  const void *scale_a = nullptr, *scale_b = nullptr, *scale_c = nullptr, *scale_d = nullptr;
};
/// In a cublasLtMatrixLayoutOpaque_t.
struct Layout {
  std::uint32_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;
};
/// In a cublasLtMatmulPreferenceOpaque_t.
struct Preference {
  std::uint64_t workspace = 0;
};

template <class Inner, class Opaque>
Inner& inside(Opaque* opaque) {
  static_assert(sizeof(Inner) <= sizeof(Opaque) && std::is_trivially_copyable_v<Inner>);
  return *reinterpret_cast<Inner*>(opaque->data);
}

/// Where an attribute stands in its object.
struct Place {
  void* at = nullptr;
  std::size_t bytes = 0;
};
template <class T>
Place place(T& member) {
  return {&member, sizeof(T)};
}

Place place_of(Description& d, cublasLtMatmulDescAttributes_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return place(d.compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return place(d.scale);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return place(d.pointer_mode);
    case CUBLASLT_MATMUL_DESC_TRANSA: return place(d.op_a);
    case CUBLASLT_MATMUL_DESC_TRANSB: return place(d.op_b);
    case CUBLASLT_MATMUL_DESC_TRANSC: return place(d.op_c);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return place(d.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return place(d.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return place(d.bias_stride);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return place(d.bias_type);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return place(d.scale_a);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return place(d.scale_b);
    case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER: return place(d.scale_c);
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER: return place(d.scale_d);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return place(d.sm_count);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return place(d.fast_accumulation);
    default: return {};
  }
}

Place place_of(Layout& l, cublasLtMatrixLayoutAttribute_t attribute) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return place(l.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return place(l.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return place(l.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return place(l.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD: return place(l.leading);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return place(l.batches);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return place(l.batch_stride);
    default: return {};
  }
}

Place place_of(Preference& p, cublasLtMatmulPreferenceAttributes_t attribute) {
  return attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? place(p.workspace) : Place{};
}

cublasStatus_t set(const char* what, int attribute, const Place& to, const void* from, std::size_t bytes) {
  return call([&](Device& device) {
    if (to.at == nullptr) return unsupported(device, std::string(what) + " attribute " + std::to_string(attribute));
    if (from == nullptr || bytes != to.bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to.at, from, bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t get(const char* what, int attribute, const Place& from, void* to, std::size_t bytes,
                   std::size_t* written) {
  return call([&](Device& device) {
    if (from.at == nullptr) return unsupported(device, std::string(what) + " attribute " + std::to_string(attribute));
    if (written != nullptr) *written = from.bytes;
    if (bytes == 0) return written != nullptr ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
    if (to == nullptr || bytes != from.bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(to, from.at, bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
}

Matrix batch_of(const Layout& layout, const void* data, std::int64_t i) {
  const auto type = static_cast<cudaDataType>(layout.type);
  const std::int64_t offset = layout.batch_stride * i * static_cast<std::int64_t>(size_of(type));
  const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
  return {.data = static_cast<std::byte*>(const_cast<void*>(data)) + offset,
          .type = type,
          .rows = static_cast<std::int64_t>(layout.rows),
          .columns = static_cast<std::int64_t>(layout.columns),
          .row_stride = by_columns ? 1 : layout.leading,
          .column_stride = by_columns ? layout.leading : 1};
}

/// A call of cublasLtMatmul, kept until its work runs.
struct Matmul {
  Description description;
  Compute compute;
  const void *a, *b, *c, *d;
  Layout a_layout, b_layout, c_layout, d_layout;
};

std::optional<Activation> activation_of(std::uint32_t epilogue) {
  switch (epilogue & ~std::uint32_t{CUBLASLT_EPILOGUE_BIAS}) {
    case 0:
    case CUBLASLT_EPILOGUE_DEFAULT: return Activation::none;
    case CUBLASLT_EPILOGUE_RELU: return Activation::relu;
    case CUBLASLT_EPILOGUE_GELU: return Activation::gelu;
    default: return std::nullopt;
  }
}

// A scale of an 8-bit operand; 1 without one, nothing after a fault.
std::optional<double> factor(Execution& work, const char* name, const void* pointer) {
  if (pointer == nullptr) return 1;
  return Scalar(pointer, CUDA_R_32F, CUBLAS_POINTER_MODE_DEVICE).value(work, name);
}

void run_batch(Execution& work, const Matmul& call, const Product& shared, std::int64_t i) {
  const Description& description = call.description;
  const auto turned = [](const Matrix& matrix, std::int32_t op) {
    return op == CUBLAS_OP_N ? matrix : matrix.transposed();
  };
  Product product = shared;
  const auto a = work.matrix("A", turned(batch_of(call.a_layout, call.a, i), description.op_a));
  const auto b = a ? work.matrix("B", turned(batch_of(call.b_layout, call.b, i), description.op_b)) : std::nullopt;
  const auto d = b ? work.matrix("D", batch_of(call.d_layout, call.d, i), Use::write) : std::nullopt;
  if (!d) return;
  product.a = *a;
  product.b = *b;
  product.d = *d;
  if (product.beta != 0) {
    const auto c = work.matrix("C", batch_of(call.c_layout, call.c, i));
    if (!c) return;
    product.c = *c;
  }
  if ((description.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    const auto type = static_cast<cudaDataType>(description.bias_type >= 0 ? description.bias_type
                                                                          : static_cast<std::int32_t>(call.d_layout.type));
    const std::int64_t offset = description.bias_stride * i * static_cast<std::int64_t>(size_of(type));
    const Matrix column{.data = static_cast<std::byte*>(const_cast<void*>(description.bias)) + offset,
                        .type = type,
                        .rows = product.d.rows,
                        .columns = 1,
                        .row_stride = 1,
                        .column_stride = 0};
    const auto bias = work.matrix("the bias", column);
    if (!bias) return;
    product.bias = *bias;
  }
  multiply(product);
}

cublasStatus_t status_of(Device& device, const Matmul& m) {
  const Description& description = m.description;
  if (!activation_of(description.epilogue)) {
    return unsupported(device, "cublasLtMatmul with epilogue " + std::to_string(description.epilogue));
  }
  for (const Layout* layout : {&m.a_layout, &m.b_layout, &m.c_layout, &m.d_layout}) {
    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW) {
      return unsupported(device, "cublasLtMatmul on matrices in order " + std::to_string(layout->order));
    }
    if (size_of(static_cast<cudaDataType>(layout->type)) == 0) {
      return unsupported(device, "cublasLtMatmul on elements of type " + std::to_string(layout->type));
    }
    if (layout->batches != m.d_layout.batches) return CUBLAS_STATUS_INVALID_VALUE;
    const std::uint64_t line = layout->order == CUBLASLT_ORDER_COL ? layout->rows : layout->columns;
    if (layout->leading < static_cast<std::int64_t>(line)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (description.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE || description.op_c != CUBLAS_OP_N) {
    return unsupported(device, "this pointer mode or transposition of C in cublasLtMatmul");
  }
  const auto rows = [](const Layout& l, std::int32_t op) { return op == CUBLAS_OP_N ? l.rows : l.columns; };
  const auto columns = [](const Layout& l, std::int32_t op) { return op == CUBLAS_OP_N ? l.columns : l.rows; };
  const bool fits = rows(m.a_layout, description.op_a) == m.d_layout.rows &&
                    columns(m.b_layout, description.op_b) == m.d_layout.columns &&
                    columns(m.a_layout, description.op_a) == rows(m.b_layout, description.op_b) &&
                    m.c_layout.rows == m.d_layout.rows && m.c_layout.columns == m.d_layout.columns;
  const bool biased = (description.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  return fits && !(biased && description.bias == nullptr) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

template <class Opaque, class Inner>
cublasStatus_t create(Opaque** to, const Inner& inner) {
  return call([&](Device&) {
    if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *to = new Opaque{};
    inside<Inner>(*to) = inner;
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return cublasCreate(reinterpret_cast<cublasHandle_t*>(handle));
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return cublasDestroy(reinterpret_cast<cublasHandle_t>(handle));
}
std::size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
std::size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) { return cublasGetStatusName(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t to, std::size_t bytes, cublasComputeType_t compute,
                                               cudaDataType_t scale) {
  if (to == nullptr || bytes < sizeof(*to)) return CUBLAS_STATUS_INVALID_VALUE;
  Description made;
  made.compute = compute;
  made.scale = scale;
  inside<Description>(to) = made;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to, cublasComputeType_t compute, cudaDataType_t scale) {
  Description made;
  made.compute = compute;
  made.scale = scale;
  return create(to, made);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t to, cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, std::size_t bytes) {
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return set("cublasLtMatmulDesc", attribute, place_of(inside<Description>(to), attribute), from, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t from, cublasLtMatmulDescAttributes_t attribute,
                                              void* to, std::size_t bytes, std::size_t* written) {
  if (from == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return get("cublasLtMatmulDesc", attribute, place_of(inside<Description>(from), attribute), to, bytes, written);
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t to, std::size_t bytes, cudaDataType type,
                                                 std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  if (to == nullptr || bytes < sizeof(*to)) return CUBLAS_STATUS_INVALID_VALUE;
  inside<Layout>(to) = {.type = static_cast<std::uint32_t>(type), .rows = rows, .columns = columns, .leading = leading};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  return create(to, Layout{.type = static_cast<std::uint32_t>(type), .rows = rows, .columns = columns, .leading = leading});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t to, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* from, std::size_t bytes) {
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return set("cublasLtMatrixLayout", attribute, place_of(inside<Layout>(to), attribute), from, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t from, cublasLtMatrixLayoutAttribute_t attribute,
                                                void* to, std::size_t bytes, std::size_t* written) {
  if (from == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return get("cublasLtMatrixLayout", attribute, place_of(inside<Layout>(from), attribute), to, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t to, std::size_t bytes) {
  if (to == nullptr || bytes < sizeof(*to)) return CUBLAS_STATUS_INVALID_VALUE;
  inside<Preference>(to) = {};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) { return create(to, Preference{}); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
// Preferences choose among algorithms, of which there is one.
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t to,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* from,
                                                    std::size_t bytes) {
  if (to == nullptr || from == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const Place known = place_of(inside<Preference>(to), attribute);
  if (known.at != nullptr && known.bytes == bytes) std::memcpy(known.at, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  return call(reinterpret_cast<cublasHandle_t>(handle), [&](Device&) {
    if (description == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || wanted <= 0 ||
        results == nullptr || found == nullptr) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    results[0] = {};
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t stream) {
  return call(reinterpret_cast<cublasHandle_t>(handle), [&](Device& device) {
    if (description == nullptr || alpha == nullptr || beta == nullptr || a_layout == nullptr || b_layout == nullptr ||
        c_layout == nullptr || d_layout == nullptr) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    const Description& own = inside<Description>(description);
    const auto compute = compute_of(static_cast<cublasComputeType_t>(own.compute));
    if (!compute) return CUBLAS_STATUS_INVALID_VALUE;
    Matmul m{.description = own,
             .compute = *compute,
             .a = a,
             .b = b,
             .c = c,
             .d = d,
             .a_layout = inside<Layout>(a_layout),
             .b_layout = inside<Layout>(b_layout),
             .c_layout = inside<Layout>(c_layout),
             .d_layout = inside<Layout>(d_layout)};
    if (m.compute.precision == Precision::i32 && own.scale != CUDA_R_32I) m.compute.precision = Precision::f32;
    if (const cublasStatus_t status = status_of(device, m); status != CUBLAS_STATUS_SUCCESS) return status;
    const auto mode = own.pointer_mode == CUBLASLT_POINTER_MODE_HOST ? CUBLAS_POINTER_MODE_HOST
                                                                     : CUBLAS_POINTER_MODE_DEVICE;
    const auto scale = static_cast<cudaDataType>(own.scale);
    const Scalar alpha_given(alpha, scale, mode), beta_given(beta, scale, mode);
    return submit(device, stream, "cublasLtMatmul", [m, alpha_given, beta_given](Execution& work) {
      const auto alpha_now = alpha_given.value(work, "alpha");
      const auto beta_now = alpha_now ? beta_given.value(work, "beta") : std::nullopt;
      const auto factor_a = beta_now ? factor(work, "the scale of A", m.description.scale_a) : std::nullopt;
      const auto factor_b = factor_a ? factor(work, "the scale of B", m.description.scale_b) : std::nullopt;
      const auto factor_c = factor_b ? factor(work, "the scale of C", m.description.scale_c) : std::nullopt;
      const auto factor_d = factor_c ? factor(work, "the scale of D", m.description.scale_d) : std::nullopt;
      if (!factor_d) return;
      Product shared;
      shared.alpha = *alpha_now * *factor_a * *factor_b;
      shared.beta = *beta_now * *factor_c;
      shared.precision = m.compute.precision;
      shared.activation = *activation_of(m.description.epilogue);
      shared.scale_d = *factor_d;
      for (std::int64_t i = 0; i < m.d_layout.batches; ++i) run_batch(work, m, shared, i);
    });
  });
}
