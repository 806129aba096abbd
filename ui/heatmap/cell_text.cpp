// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/cell_text.h"

#include "ui/theme/theme.h"

#include <QCoreApplication>

#include <limits>

namespace forkpoint::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Heatmap)
};

} // namespace

QString cellText(heatmap::Mode mode, double value, std::uint16_t flags, const QFontMetrics& metrics, int width)
{
    if (mode == heatmap::Mode::OverTolerance) {
        const QString word = (flags & heatmap::kOver) != 0 ? Words::tr("over") : (flags & heatmap::kDiffers) != 0 ? Words::tr("within") : Words::tr("equal");
        return metrics.elidedText(word, Qt::ElideRight, width);
    }
    const auto kinds = heatmap::modeFlags(mode);
    if (flags & kinds.nan) {
        return number(std::numeric_limits<double>::quiet_NaN());
    }
    if (flags & (kinds.positiveInf | kinds.negativeInf)) {
        const double infinity = std::numeric_limits<double>::infinity();
        return number(flags & kinds.positiveInf ? infinity : -infinity);
    }
    for (const int digits : { 4, 3, 2, 1 }) {
        const QString text = number(value, digits);
        if (metrics.horizontalAdvance(text) <= width) {
            return text;
        }
    }
    return QStringLiteral("…");
}

} // namespace forkpoint::ui
