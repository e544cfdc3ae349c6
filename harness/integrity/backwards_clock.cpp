// SPDX-License-Identifier: Apache-2.0
// Preloaded by a test: the time of day is in 1999 and goes backwards by a minute with every look.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static std::atomic<time_t> seconds{930'000'000};
  if (clock != CLOCK_REALTIME) return static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  now->tv_sec = seconds -= 60;
  now->tv_nsec = 0;
  return 0;
}
extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
