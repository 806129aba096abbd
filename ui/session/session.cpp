// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/session/session.h"

#include "core/compare/open_runs.h"
#include "core/portable/portable.h"

#include <algorithm>

namespace forkpoint::ui {

namespace {

const QString kLoadTag = QStringLiteral("compare");

/// Hands every stage of the comparison to the UI thread.
class StreamSink : public compare::Sink {
public:
    using Stage = std::function<void(compare::Snapshot)>;
    StreamSink(JobRunner& jobs, std::stop_token stop, Stage structure, Stage results)
        : m_jobs(jobs)
        , m_stop(std::move(stop))
        , m_structure(std::move(structure))
        , m_results(std::move(results))
    {
    }
    void onStructure(const compare::Snapshot& snapshot) override
    {
        m_jobs.post(kLoadTag, m_stop, [stage = m_structure, snapshot] { stage(snapshot); });
    }
    void onResults(const compare::Snapshot& snapshot) override
    {
        m_jobs.post(kLoadTag, m_stop, [stage = m_results, snapshot] { stage(snapshot); });
    }

private:
    JobRunner& m_jobs;
    std::stop_token m_stop;
    Stage m_structure, m_results;
};

} // namespace

Session::Session(JobRunner& jobs, QObject* parent)
    : QObject(parent)
    , m_jobs(jobs)
{
}

void Session::setState(State state)
{
    m_state = state;
    emit stateChanged();
}

void Session::open(const QString& reference, const QString& candidate, const QString& noise)
{
    close();
    m_reference = reference;
    m_candidate = candidate;
    m_noise = noise;
    setState(State::Loading);
    const auto showSide = [this](const align::Side& side, bool isReference) {
        (isReference ? m_sideA : m_sideB) = side;
        emit sideOpened();
    };
    const auto showStructure = [this](compare::Snapshot snapshot) {
        m_comparison = std::move(snapshot);
        m_selection = {};
        m_stepChosen = false;
        m_selection.step = steps().empty() ? 0 : steps().front();
        emit structureChanged();
    };
    const auto showResults = [this](compare::Snapshot snapshot) {
        m_comparison = std::move(snapshot);
        emit resultsChanged();
    };
    m_jobs.start<Result<Compared>>(
        kLoadTag, candidate.isEmpty() ? tr("Opening") : tr("Comparing"), this,
        [this, reference, candidate, noise, showSide, showStructure, showResults](Progress& progress, std::stop_token stop) -> Result<Compared> {
            const auto opened = [&](const align::Side& side, bool isReference) {
                m_jobs.post(kLoadTag, stop, [showSide, side, isReference] { showSide(side, isReference); });
            };
            if (candidate.isEmpty()) {
                auto loaded = portable::load(reference.toStdString());
                if (!loaded) {
                    return tl::unexpected(loaded.error());
                }
                opened(loaded->structure().alignment.a, true);
                opened(loaded->structure().alignment.b, false);
                m_jobs.post(kLoadTag, stop, [showStructure, snapshot = *loaded] { showStructure(snapshot); });
                return std::move(*loaded);
            }
            auto both = compare::openRunsOrLogs({ reference.toStdString(), candidate.toStdString(), noise.toStdString() }, opened, &progress, stop);
            if (!both) {
                return tl::unexpected(both.error());
            }
            if (auto* logs = std::get_if<curves::SeriesComparison>(&*both)) {
                return std::make_shared<const curves::SeriesComparison>(std::move(*logs));
            }
            auto& runs = std::get<compare::OpenedRuns>(*both);
            compare::Options options;
            options.noise = std::move(runs.noise);
            StreamSink sink(m_jobs, stop, showStructure, showResults);
            auto compared = compare::compare(std::move(runs.a), std::move(runs.b), std::move(options), &sink, &progress, stop);
            return compared ? Result<Compared>(std::move(*compared)) : tl::unexpected(compared.error());
        },
        [this](Result<Compared> done) {
            if (!done) {
                m_error = done.error();
                setState(State::Failed);
                return;
            }
            m_state = State::Ready;
            if (auto* logs = std::get_if<Logs>(&*done)) {
                m_logs = std::move(*logs);
                emit structureChanged();
            } else {
                m_comparison = std::move(std::get<compare::Snapshot>(*done));
                const auto& verdict = m_comparison->outcome()->verdict;
                if (!m_selection.pair && !m_stepChosen) { // what the verdict names, unless somebody looks elsewhere already
                    selectPair(verdict.fork ? verdict.fork->pair : verdict.closest);
                }
            }
            emit verdictReady();
            emit stateChanged();
        });
}

bool Session::hasOrder() const
{
    if (m_logs) {
        return false;
    }
    if (!m_comparison) {
        return true;
    }
    const auto& alignment = m_comparison->structure().alignment;
    return alignment.a.bundle->isRecording() && alignment.b.bundle->isRecording();
}

void Session::swapSides()
{
    if (!m_reference.isEmpty() && !isPortable()) {
        open(QString(m_candidate), QString(m_reference), QString()); // the noise run repeats the old reference
    }
}

void Session::close()
{
    m_jobs.cancel(kLoadTag);
    m_comparison.reset();
    m_logs.reset();
    m_error.reset();
    m_sideA.reset();
    m_sideB.reset();
    m_reference.clear();
    m_candidate.clear();
    m_noise.clear();
    m_selection = {};
    setState(State::Empty);
    emit structureChanged();
}

void Session::cancel()
{
    if (m_state == State::Loading) {
        m_jobs.cancel(kLoadTag);
        setState(m_comparison ? State::Partial : State::Empty);
    }
}

void Session::selectPair(std::optional<std::size_t> pair)
{
    if (pair && (!m_comparison || *pair >= m_comparison->pairs())) {
        pair.reset();
    }
    if (pair == m_selection.pair) {
        return;
    }
    m_selection.pair = pair;
    m_selection.lane = -1;
    m_selection.element.reset();
    if (pair) {
        const int step = m_comparison->structure().alignment.pairs[*pair].key.step;
        if (step != m_selection.step) {
            m_selection.step = step;
            emit stepSelected();
        }
    }
    emit pairSelected();
}

void Session::selectStep(int step)
{
    const auto all = steps();
    if (step == m_selection.step || std::find(all.begin(), all.end(), step) == all.end()) {
        return;
    }
    m_selection.step = step;
    m_stepChosen = true;
    emit stepSelected();
    if (!m_selection.pair) {
        return;
    }
    // Keep looking at the same tensor, in the other step.
    auto key = m_comparison->structure().alignment.pairs[*m_selection.pair].key;
    key.step = step;
    const auto& pairs = m_comparison->structure().alignment.pairs;
    const auto same = std::find_if(pairs.begin(), pairs.end(), [&](const align::Pair& p) { return p.key == key; });
    selectPair(same == pairs.end() ? std::nullopt : std::optional(static_cast<std::size_t>(same - pairs.begin())));
}

void Session::selectLane(int lane)
{
    if (lane != m_selection.lane) {
        m_selection.lane = lane;
        emit laneSelected();
    }
}

void Session::selectGate(std::optional<diagnose::Gate> gate)
{
    if (gate != m_selection.gate) {
        m_selection.gate = gate;
        emit gateSelected();
    }
}

void Session::pinElement(std::optional<std::vector<std::int64_t>> index)
{
    if (index != m_selection.element) {
        m_selection.element = std::move(index);
        emit elementPinned();
    }
}

void Session::setColourBy(ColourBy colourBy)
{
    if (colourBy != m_colourBy) {
        m_colourBy = colourBy;
        emit colourByChanged();
    }
}

void Session::selectCurve(const QString& name)
{
    if (name != m_curve) {
        m_curve = name;
        emit curveSelected();
    }
}

std::vector<Session::Curve> Session::overlays() const
{
    std::vector<Curve> out;
    if (m_logs) {
        for (const auto& each : m_logs->overlays) {
            out.emplace_back(m_logs, &each.curve);
        }
    } else if (m_comparison && m_comparison->outcome()) {
        const auto owner = std::make_shared<const compare::Snapshot>(*m_comparison);
        for (const auto& each : owner->outcome()->curves) {
            out.emplace_back(owner, &each);
        }
    }
    return out;
}

std::size_t Session::curveIndex() const
{
    const auto all = overlays();
    const auto named = [&](const std::string& name) {
        return std::find_if(all.begin(), all.end(), [&](const Curve& curve) { return curve->name == name; });
    };
    auto found = named(m_curve.toStdString());
    if (found == all.end() && m_logs) {
        found = named(m_logs->telling().curve.name);
    }
    return found == all.end() ? 0 : static_cast<std::size_t>(found - all.begin());
}

std::optional<std::size_t> Session::nextDivergence(int direction) const
{
    if (!m_comparison) {
        return std::nullopt;
    }
    const auto severities = m_comparison->severities();
    const auto n = static_cast<std::ptrdiff_t>(severities.size());
    auto at = m_selection.pair ? static_cast<std::ptrdiff_t>(*m_selection.pair) + direction : direction > 0 ? 0 : n - 1;
    for (; at >= 0 && at < n; at += direction) {
        if (diagnose::isAboveFloor(severities[static_cast<std::size_t>(at)])) {
            return static_cast<std::size_t>(at);
        }
    }
    return std::nullopt;
}

void Session::goToDivergence(int direction)
{
    if (const auto pair = nextDivergence(direction)) {
        selectPair(pair);
    }
}

void Session::goToFork()
{
    const auto* outcome = m_comparison ? m_comparison->outcome() : nullptr;
    if (outcome && outcome->verdict.fork) {
        selectPair(outcome->verdict.fork->pair);
    }
}

std::vector<int> Session::steps() const
{
    std::vector<int> out;
    if (m_comparison) {
        for (const auto& plan : m_comparison->structure().alignment.steps) {
            out.push_back(plan.step);
        }
    }
    return out;
}

} // namespace forkpoint::ui
