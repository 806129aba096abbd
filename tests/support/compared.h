// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/compare/compare.h"
#include "tests/support/run_builder.h"

namespace forkpoint::test {

/// A finished comparison, asked by pair id. Fails the test if it did not finish.
class Compared {
public:
    Compared(align::Side a, align::Side b, compare::Options options = {})
    {
        auto done = compare::compare(std::move(a), std::move(b), std::move(options));
        EXPECT_TRUE(done) << done.error().text();
        if (done) {
            m_snapshot = std::move(*done);
        }
    }

    const compare::Snapshot& snapshot() const { return m_snapshot; }
    const align::Alignment& alignment() const { return m_snapshot.structure().alignment; }
    const align::Pair& pair(std::string_view id) const { return pairOf(alignment(), id); }
    const diagnose::PairResult& result(std::string_view id) const { return m_snapshot.result(indexOf(alignment(), id)); }
    diagnose::Severity severity(std::string_view id) const { return result(id).severity; }
    const diagnose::Verdict& verdict() const { return m_snapshot.outcome()->verdict; }
    diagnose::Severity severity() const { return verdict().severity; }
    std::string fork() const { return verdict().fork ? alignment().pairs[verdict().fork->pair].id : std::string("none"); }

private:
    compare::Snapshot m_snapshot;
};

} // namespace forkpoint::test

namespace forkpoint::diagnose {

/// So that a failing test says "drift" and not a number.
inline void PrintTo(Severity severity, std::ostream* out)
{
    *out << name(severity);
}

} // namespace forkpoint::diagnose
