// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/judge/bench.h"
#include "harness/judge/contest.h"

namespace pkb::judge {

/// Collective: times a candidate that has passed its trials against the baseline, whose "timing" becomes a fact of
/// `findings`, and checks the outputs of timed iterations that nobody could know beforehand. The worker is set up for
/// `oracle`'s instance; `segment` has room for Track::bytes.
void time_candidate(Bench& bench, Session& session, Oracle& oracle, const Layout& layout,
                    const device::Segment& segment, DescriptorExchange& exchange, Findings& findings);

/// Collective: the same for the baseline alone.
void time_baseline(Bench& bench, Oracle& oracle, Findings& findings);

}  // namespace pkb::judge
