// SPDX-License-Identifier: Apache-2.0
// A header without end.
#include "/dev/zero"
