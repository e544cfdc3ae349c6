// SPDX-License-Identifier: Apache-2.0
// Two gigabytes in the library.
char filler[2u << 30] = {1};
