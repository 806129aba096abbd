// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/log_words.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>

namespace forkpoint::ui {

namespace {

using curves::SeriesComparison;
using curves::SeriesOverlay;
using diagnose::Severity;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(LogWords)
};

constexpr int kDigits = 7; ///< of a logged value: enough to see where two of them part

QString count(std::size_t n) { return QLocale().toString(static_cast<qulonglong>(n)); }

/// Two sentences in a row; Chinese puts no space after its full stop.
void addSentence(QString& text, const QString& sentence) { text += (text.isEmpty() || text.endsWith(QChar(0x3002)) ? QString() : QStringLiteral(" ")) + sentence; }

QString nameOf(const SeriesOverlay& curve)
{
    const QString name = shown(curve.curve.name);
    constexpr int kShown = 80;
    return name.size() > kShown ? name.left(kShown - 20) + QStringLiteral("…") + name.right(16) : name;
}

/// "largest relative difference 0.00296 at step 14, over 40 common steps".
QString distance(const SeriesOverlay& curve)
{
    const int common = static_cast<int>(curve.common);
    return curve.at ? Words::tr("largest relative difference %1 at step %2, over %n common step(s)", nullptr, common)
                          .arg(number(curve.largest, 3), QLocale().toString(*curve.at))
        : curve.curve.onset ? Words::tr("no difference of finite values, over %n common step(s)", nullptr, common)
                            : Words::tr("equal over %n common step(s)", nullptr, common);
}

/// Where the sentence is about something else: the loss that departs first, else one that agrees.
const SeriesOverlay* otherLoss(const SeriesComparison& logs)
{
    const auto isLoss = [](const SeriesOverlay& curve) { return curve.curve.name.find("loss") != std::string::npos; };
    const SeriesOverlay* found = nullptr;
    for (const auto& curve : logs.overlays) {
        const auto& onset = curve.curve.onset;
        if (isLoss(curve) && curve.common > 0 && (!found || (onset && (!found->curve.onset || *onset < *found->curve.onset)))) {
            found = &curve;
        }
    }
    return isLoss(logs.telling()) ? nullptr : found;
}

} // namespace

Severity severityOf(const SeriesOverlay& curve)
{
    return curve.common == 0 ? Severity::Unmatched : curve.curve.onset ? Severity::Divergent : curve.largest > 0 ? Severity::Noise : Severity::Identical;
}

Severity severityOf(const SeriesComparison& logs)
{
    Severity worst = Severity::Identical;
    for (const auto& curve : logs.overlays) {
        worst = curve.common > 0 ? std::max(worst, severityOf(curve)) : worst;
    }
    return worst;
}

QString logsHeadline(const SeriesComparison& logs)
{
    const auto& telling = logs.telling();
    const bool one = logs.common() == 1;
    if (!logs.differs()) {
        return one ? Words::tr("%1 agrees over %n common step(s).", nullptr, static_cast<int>(telling.common)).arg(nameOf(telling))
                   : Words::tr("All %1 common curves agree.").arg(count(logs.common()));
    }
    const auto step = *telling.curve.onset;
    return (one ? Words::tr("%1 departs at step %2: A %3, B %4.") : Words::tr("%1 departs first, at step %2: A %3, B %4."))
        .arg(nameOf(telling), QLocale().toString(step), number(*valueAt(telling.curve.a, step), kDigits), number(*valueAt(telling.curve.b, step), kDigits));
}

QString logsDetail(const SeriesComparison& logs)
{
    QString text = Words::tr("%1: %2.", "name of a curve, its distance").arg(nameOf(logs.telling()), distance(logs.telling()));
    if (const auto* loss = otherLoss(logs)) {
        addSentence(text, loss->curve.onset ? Words::tr("%1 departs at step %2.").arg(nameOf(*loss), QLocale().toString(*loss->curve.onset))
                                            : Words::tr("%1 agrees.").arg(nameOf(*loss)));
    }
    addSentence(text, Words::tr("%1.", "a sentence").arg(commonCurvesText(logs)));
    return text;
}

QString toleranceText(const SeriesComparison& logs) { return Words::tr("tolerance %1 or the last written digit").arg(number(logs.tolerance, 3)); }

QString commonCurvesText(const SeriesComparison& logs)
{
    return logs.common() == 1 ? Words::tr("One curve is on both sides")
        : logs.differs()      ? Words::tr("%1 of %2 common curves depart").arg(count(logs.departing()), count(logs.common()))
                              : Words::tr("%1 curves are on both sides").arg(count(logs.common()));
}

QString curveSentence(const SeriesOverlay& curve)
{
    if (curve.common == 0) {
        return curve.curve.a.empty() ? Words::tr("only in B") : curve.curve.b.empty() ? Words::tr("only in A") : Words::tr("no common step");
    }
    QString text = curve.curve.onset ? Words::tr("departs at step %1").arg(QLocale().toString(*curve.curve.onset)) : Words::tr("agrees");
    text += Words::tr(", ", "between parts of a sentence") + distance(curve);
    return curve.nameB.empty() ? text : Words::tr("%1; in B it is called %2").arg(text, shown(curve.nameB));
}

std::vector<TextTable::Row> curveRows(const SeriesComparison& logs)
{
    std::vector<TextTable::Row> rows;
    const QString none = QStringLiteral("–");
    for (const auto& curve : logs.overlays) {
        const bool common = curve.common > 0;
        const std::size_t most = std::max(curve.curve.a.size(), curve.curve.b.size());
        TextTable::Row row;
        row.cells = { shown(curve.curve.name), curve.curve.onset ? QLocale().toString(*curve.curve.onset) : none, common ? number(curve.largest, 3) : none,
                      !common ? curveSentence(curve) : curve.common == most ? count(most) : Words::tr("%1 of %2", "common steps").arg(count(curve.common), count(most)) };
        row.definition = curveSentence(curve);
        row.dim = !common;
        row.severity = severityOf(curve);
        rows.push_back(std::move(row));
    }
    return rows;
}

QStringList readerNotes(const SeriesComparison& logs)
{
    QStringList out;
    for (const auto& [letter, side] : { std::pair("A", &logs.a), std::pair("B", &logs.b) }) {
        for (const auto& note : side->notes) {
            out += QStringLiteral("%1: %2").arg(QLatin1String(letter), shown(note));
        }
    }
    return out;
}

QString logsSummary(const SeriesComparison& logs)
{
    QStringList lines { logsHeadline(logs), logsDetail(logs), QString() };
    for (const auto& [letter, side] : { std::pair("A", &logs.a), std::pair("B", &logs.b) }) {
        lines += Words::tr("%1: %2 (%3, %n curve(s))", "letter, name, format", static_cast<int>(side->curves))
                     .arg(QLatin1String(letter), shown(side->name), QString::fromStdString(side->format));
    }
    lines += toleranceText(logs);
    lines += QString();
    constexpr std::size_t kListed = 40;
    for (std::size_t i = 0; i < std::min(logs.overlays.size(), kListed); ++i) {
        lines += QStringLiteral("%1: %2").arg(nameOf(logs.overlays[i]), curveSentence(logs.overlays[i]));
    }
    if (logs.overlays.size() > kListed) {
        lines += Words::tr("and %1 more").arg(count(logs.overlays.size() - kListed));
    }
    lines += readerNotes(logs);
    return lines.join(QLatin1Char('\n'));
}

} // namespace forkpoint::ui
