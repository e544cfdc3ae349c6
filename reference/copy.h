// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/tensor.h"

/// The element moves under Tensor's methods; both operands have one shape and one place.
namespace pkb::ref::detail {

/// Bit copy between tensors of one dtype, any strides; they must not overlap.
void copy_elements(const Tensor& to, const Tensor& from);

/// Converts each element, rounded once; floating to integer truncates. Any strides.
void convert_elements(const Tensor& to, const Tensor& from);

/// Every element becomes `value`, rounded to the dtype once.
void fill_elements(const Tensor& to, double value);

}  // namespace pkb::ref::detail
