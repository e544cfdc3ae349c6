// SPDX-License-Identifier: Apache-2.0
// A message for each of 10^5 lines.
#define B0 _Pragma("message \"one of a great many lines of text that say nothing\"")
#define B1 B0 B0 B0 B0 B0 B0 B0 B0 B0 B0
#define B2 B1 B1 B1 B1 B1 B1 B1 B1 B1 B1
#define B3 B2 B2 B2 B2 B2 B2 B2 B2 B2 B2
#define B4 B3 B3 B3 B3 B3 B3 B3 B3 B3 B3
B4 B4 B4 B4 B4 B4 B4 B4 B4 B4
#error the end
