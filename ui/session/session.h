// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/compare/compare.h"
#include "core/curves/compare_series.h"
#include "ui/jobs/job_runner.h"

#include <QObject>
#include <QString>

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace forkpoint::ui {

/// What a graph, a list or a minimap is coloured by.
enum class ColourBy { Severity, OutputError, AddedError };

/// The one selection that all views share. Views read it, ask the session to change it, and follow its signals; they never talk to each
/// other.
struct Selection {
    std::optional<std::size_t> pair;     ///< index into the comparison's pairs
    int step = 0;                        ///< in the reference's numbering
    int lane = -1;                       ///< of the pair: -1 the worst one, else an index (rank by rank, or replicas)
    std::optional<diagnose::Gate> gate;  ///< the phase that lists and graph show; nullopt: all
    std::optional<std::vector<std::int64_t>> element; ///< pinned element of the pair's tensor
};

/// Two runs (and a noise run) being compared, or two logs, and the shared selection. Lives on the UI thread.
class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(JobRunner& jobs, QObject* parent = nullptr);

    /// Starts opening and comparing; replaces what is shown. Paths are RUN or RUN@RANK, tensors or logs; `noise` may be empty. Without a candidate,
    /// `reference` is a portable comparison, which is opened as it is.
    void open(const QString& reference, const QString& candidate, const QString& noise = {});
    void swapSides(); ///< not of a portable comparison
    void close();
    void cancel(); ///< stops loading; what is ready stays and is marked partial

    enum class State { Empty, Loading, Partial, Ready, Failed };
    State state() const { return m_state; }
    /// True unless what is compared says nothing about execution, as logs and files of tensors do: then there is no fork and there are no gates.
    bool hasOrder() const;
    bool isPortable() const { return !m_reference.isEmpty() && m_candidate.isEmpty(); } ///< referencePath() is the file
    const std::optional<compare::Snapshot>& comparison() const { return m_comparison; } ///< from the structure on; none of logs

    /// Two logs, in place of comparison(): null, or Ready. Shared, because workers prepare what views show of it.
    using Logs = std::shared_ptr<const curves::SeriesComparison>;
    const Logs& logs() const { return m_logs; }
    /// Scalars of both sides, of whatever is open; empty until they are there. Each keeps alive what it points into.
    using Curve = std::shared_ptr<const curves::Overlay>;
    std::vector<Curve> overlays() const;
    const std::optional<Error>& error() const { return m_error; }                        ///< Failed: what, where, what next
    QString referencePath() const { return m_reference; }
    QString candidatePath() const { return m_candidate; }
    QString noisePath() const { return m_noise; }
    const std::optional<align::Side>& reference() const { return m_sideA; } ///< as soon as it was opened; stays where comparing failed
    const std::optional<align::Side>& candidate() const { return m_sideB; }
    JobRunner& jobs() { return m_jobs; }

    const Selection& selection() const { return m_selection; }
    ColourBy colourBy() const { return m_colourBy; }
    /// Index into overlays() of the scalar to look at: the one that was chosen by name, in the next runs too if they have it; else the one that the
    /// verdict is about.
    std::size_t curveIndex() const;

    // Requests. Each emits its signal only if something changes. Selecting a pair selects its step too.
    void selectPair(std::optional<std::size_t> pair);
    void selectStep(int step);
    void selectLane(int lane);
    void selectGate(std::optional<diagnose::Gate> gate);
    void pinElement(std::optional<std::vector<std::int64_t>> index);
    void setColourBy(ColourBy colourBy);
    void selectCurve(const QString& name);

    /// The next (direction 1) or previous (-1) pair above the floor after the selected one, in execution order; nullopt if there is none.
    std::optional<std::size_t> nextDivergence(int direction) const;
    void goToDivergence(int direction);
    void goToFork();

    std::vector<int> steps() const; ///< compared steps

signals:
    void stateChanged();
    void sideOpened();                                   ///< reference() or candidate() is there
    void structureChanged();                             ///< a new comparison: all pairs pending, selection reset; or logs
    void resultsChanged();                               ///< comparison() has more results
    void verdictReady();
    void pairSelected();
    void stepSelected();
    void laneSelected();
    void gateSelected();
    void elementPinned();
    void colourByChanged();
    void curveSelected();

private:
    using Compared = std::variant<compare::Snapshot, Logs>;
    void setState(State state);

    JobRunner& m_jobs;
    State m_state = State::Empty;
    std::optional<compare::Snapshot> m_comparison;
    std::optional<Error> m_error;
    QString m_reference, m_candidate, m_noise;
    std::optional<align::Side> m_sideA, m_sideB;
    Selection m_selection;
    bool m_stepChosen = false; ///< by somebody, since the runs were opened
    ColourBy m_colourBy = ColourBy::Severity;
    Logs m_logs;
    QString m_curve;
};

} // namespace forkpoint::ui
