// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/range.h"
#include "core/heatmap/render.h"

#include <QHash>
#include <QString>

#include <map>
#include <optional>

namespace forkpoint::ui {

/// The ranges of colours: one per tensor and mode (A and B share theirs). A range is fitted once, to the first picture of a tensor, and then stays
/// until somebody fits it again or moves it. A locked range goes from tensor to tensor. What is shown of a picture that a range was not fitted
/// to is marked.
class RangeKeeper {
public:
    static heatmap::Mode keyOf(heatmap::Mode mode); ///< A for B

    void setTensor(const QString& tensor);
    struct Kept {
        heatmap::Normalisation normalisation;
        bool marked = false; ///< locked, moved by hand, or fitted to another slice
    };
    /// `picture` tells slices apart. nullopt: to be fitted first.
    std::optional<Kept> range(heatmap::Mode mode, const QString& picture) const;
    /// Also of a locked range, which stays locked. `symmetric`: for a map whose middle is zero.
    void fit(heatmap::Mode mode, const heatmap::Histogram& histogram, const QString& picture, bool symmetric);
    void set(heatmap::Mode mode, heatmap::ValueRange range); ///< by hand
    bool isByHand(heatmap::Mode mode) const;

    bool isLocked() const { return m_locked; }
    void setLocked(bool locked); ///< locks the ranges of this tensor

    heatmap::RangeScale scale(heatmap::Mode mode) const;
    bool isLog(heatmap::Mode mode) const;
    void setLog(heatmap::Mode mode, bool log); ///< ranges that were not moved by hand have to be fitted again
    void clear(); ///< forgets all tensors; what is locked stays

private:
    struct Entry {
        heatmap::ValueRange range;
        bool byHand = false;
        QString fittedTo;
    };
    using Entries = std::map<heatmap::Mode, Entry>;
    const Entry* find(heatmap::Mode mode) const;

    QHash<QString, Entries> m_tensors;
    QString m_tensor;
    Entries m_lockedRanges;
    bool m_locked = false;
    std::map<heatmap::Mode, bool> m_log;
};

} // namespace forkpoint::ui
