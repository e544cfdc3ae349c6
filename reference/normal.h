// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/scalar.h"

/// The inverse of the normal distribution from operations that IEEE 754 defines to the last bit (+, -, *, /,
/// sqrt), so that host and device agree exactly. Compile without contraction into fused multiply-adds.
namespace pkb::ref {

/// Natural logarithm of a normal, positive double below 1 with an error below 1 unit in the last place:
/// fdlibm's e_log.c, ln(2^k m) = k ln 2 + ln m with |m - 1| small and ln m = 2 atanh((m - 1) / (m + 1)) as a
/// polynomial.
PKB_HD inline double exact_log(double x) {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  // Splits off k so that m lies in [sqrt(1/2), sqrt(2)).
  const std::uint64_t above = bits + 0x00095f6400000000u;
  const int k = static_cast<int>(above >> 52) - 1023;
  const double m = __builtin_bit_cast(double, bits - (static_cast<std::uint64_t>(k) << 52));
  const double f = m - 1, s = f / (2 + f), z = s * s, w = z * z;
  const double even =
      w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half_square = 0.5 * f * f;
  return k * 6.93147180369123816490e-01 -
         ((half_square - (s * (half_square + (even + odd)) + k * 1.90821492927058770002e-10)) - f);
}

/// z with P(N(0, 1) < z) = p, relative error about 1e-15, for p in [2^-36, 1 - 2^-36]: M. J. Wichura,
/// "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988),
/// PPND16, without its third branch, which serves p below e^-25 only.
PKB_HD inline double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q *
           (((((((r * 2509.0809287301226727 + 33430.575583588128105) * r + 67265.770927008700853) * r +
                45921.953931549871457) *
                   r +
               13731.693765509461125) *
                  r +
              1971.5909503065514427) *
                 r +
             133.14166789178437745) *
                r +
            3.387132872796366608) /
           (((((((r * 5226.495278852545925 + 28729.085735721942674) * r + 39307.89580009271061) * r +
                21213.794301586595867) *
                   r +
               5394.1960214247511077) *
                  r +
              687.1870074920579083) *
                 r +
             42.313330701600911252) *
                r +
            1);
  }
  const double r = std::sqrt(-exact_log(q < 0 ? p : 1 - p)) - 1.6;
  const double z =
      (((((((r * 7.7454501427834140764e-4 + 0.0227238449892691845833) * r + 0.24178072517745061177) * r +
           1.27045825245236838258) *
              r +
          3.64784832476320460504) *
             r +
         5.7694972214606914055) *
            r +
        4.6303378461565452959) *
           r +
       1.42343711074968357734) /
      (((((((r * 1.05075007164441684324e-9 + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r +
           0.14810397642748007459) *
              r +
          0.68976733498510000455) *
             r +
         1.6763848301838038494) *
            r +
        2.05319162663775882187) *
           r +
       1);
  return q < 0 ? -z : z;
}

}  // namespace pkb::ref
