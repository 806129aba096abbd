// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/compare/comparison.h"

namespace forkpoint::compare {

const Structure& Snapshot::structure() const { return m_comparison->m_structure; }

const diagnose::PairResult& Snapshot::result(std::size_t pair) const { return m_comparison->m_results[pair]; }

std::span<const diagnose::PairResult> Snapshot::results() const { return { m_comparison->m_results.data(), m_ready }; }

std::span<const diagnose::Severity> Snapshot::severities() const { return { m_comparison->m_severities.data(), m_ready }; }

std::span<const double> Snapshot::errors() const { return { m_comparison->m_errors.data(), m_ready }; }

std::span<const double> Snapshot::added() const { return { m_comparison->m_added.data(), m_ready }; }

Comparison::Comparison(Structure structure)
    : m_structure(std::move(structure))
    , m_results(m_structure.alignment.pairs.size())
    , m_severities(m_results.size())
    , m_errors(m_results.size())
    , m_added(m_results.size())
{
}

Snapshot Comparison::snapshot() const
{
    Snapshot out;
    out.m_comparison = shared_from_this();
    {
        const std::lock_guard lock(m_mutex);
        out.m_outcome = m_outcome;
    }
    out.m_ready = m_ready.load(std::memory_order_acquire);
    return out;
}

void Comparison::publish(std::size_t ready)
{
    for (std::size_t i = m_ready.load(std::memory_order_relaxed); i < ready; ++i) {
        m_severities[i] = m_results[i].severity;
        m_errors[i] = m_results[i].error;
        m_added[i] = m_results[i].added;
    }
    m_ready.store(ready, std::memory_order_release);
}

void Comparison::finish(Outcome outcome)
{
    const std::lock_guard lock(m_mutex);
    m_outcome = std::make_shared<const Outcome>(std::move(outcome));
}

} // namespace forkpoint::compare
