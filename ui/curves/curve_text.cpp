// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/curves/curve_text.h"

#include "ui/models/log_words.h"
#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

namespace {

using align::Reduction;

struct Curves {
    Q_DECLARE_TR_FUNCTIONS(Curves)
};

bool isLoss(const curves::Overlay& overlay)
{
    return overlay.name == "loss";
}

/// The head of a tooltip, and each paragraph of it.
QString headOf(const std::string& name) { return QStringLiteral("<p><b>") + QString::fromStdString(name).left(120).toHtmlEscaped() + QStringLiteral("</b></p>"); }
QString paragraph(const QString& text) { return QStringLiteral("<p>") + text.toHtmlEscaped() + QStringLiteral("</p>"); }

QString relativeDefinition() { return Curves::tr("Relative difference: |B - A| / max(|A|, |B|)."); }

QString nonFiniteWords(const QString& side, const PlottedLine& line)
{
    const auto nan = std::count_if(line.nonFinite.begin(), line.nonFinite.end(), [](const auto& p) { return p.what == NonFinite::NaN; });
    const auto inf = static_cast<std::ptrdiff_t>(line.nonFinite.size()) - nan;
    if (nan && inf) {
        return Curves::tr("%1: %2 NaN, %3 Inf").arg(side).arg(nan).arg(inf);
    }
    return nan ? Curves::tr("%1: %2 NaN").arg(side).arg(nan) : Curves::tr("%1: %2 Inf").arg(side).arg(inf);
}

} // namespace

QString combinationWords(const align::Side& side, const align::SideWeights& weights)
{
    const auto ranks = side.ranks.size();
    QString words;
    switch (weights.ranks) {
    case Reduction::One:
        words = Curves::tr("one rank");
        break;
    case Reduction::Replicated:
        words = Curves::tr("the same on %1 ranks").arg(ranks);
        break;
    case Reduction::Mean:
        words = Curves::tr("mean over %1 ranks").arg(ranks);
        break;
    case Reduction::Sum:
        words = Curves::tr("sum over %1 ranks").arg(ranks);
        break;
    }
    if (weights.micros == Reduction::Mean) {
        return Curves::tr("%1, mean over micro-steps").arg(words);
    }
    return weights.micros == Reduction::Sum ? Curves::tr("%1, sum over micro-steps").arg(words) : words;
}

QString curveDefinition(const curves::Overlay& overlay, const align::Alignment& alignment)
{
    if (!isLoss(overlay)) {
        return Curves::tr("as logged by the first rank");
    }
    const QString a = combinationWords(alignment.a, overlay.weightsA), b = combinationWords(alignment.b, overlay.weightsB);
    return a == b ? a : Curves::tr("A: %1; B: %2").arg(a, b);
}

QString curveDefinitionToolTip(const curves::Overlay& overlay, const align::Alignment& alignment)
{
    QString tip = headOf(overlay.name);
    if (isLoss(overlay)) {
        tip += paragraph(Curves::tr("The tensor that backward() started from, of the whole step."));
        tip += paragraph(Curves::tr("A: %1").arg(combinationWords(alignment.a, overlay.weightsA)));
        tip += paragraph(Curves::tr("B: %1").arg(combinationWords(alignment.b, overlay.weightsB)));
        tip += paragraph(
            Curves::tr("How ranks and micro-steps add up is read off the losses of the first compared step and used for every step."));
        tip += paragraph(
            Curves::tr("Onset: the first step whose relative difference is above 100 times the floor that rounding explains."));
    } else {
        tip += paragraph(Curves::tr("As the first recorded rank of each run logged it. Only the loss sets an onset."));
    }
    tip += paragraph(relativeDefinition());
    if (alignment.stepOffset != 0) {
        tip += paragraph(Curves::tr("Steps are numbered as in A; step n of A is step n + %1 of B.").arg(alignment.stepOffset));
    }
    return tip;
}

QString curveDefinition(const curves::SeriesOverlay& overlay, const curves::SeriesComparison& logs)
{
    if (!overlay.nameB.empty()) {
        return Curves::tr("in B: %1").arg(shown(overlay.nameB));
    }
    const QString a = QString::fromStdString(logs.a.format), b = QString::fromStdString(logs.b.format);
    return a == b ? Curves::tr("as logged (%1)").arg(a) : Curves::tr("as logged (A: %1; B: %2)").arg(a, b);
}

QString curveDefinitionToolTip(const curves::SeriesOverlay& overlay, const curves::SeriesComparison& logs)
{
    QString tip = headOf(overlay.curve.name) + paragraph(curveSentence(overlay));
    tip += paragraph(Curves::tr("Onset: the first common step whose values differ by more than %1 of the larger one and by more than one unit of the last "
                                "digit that was written, or where only one is finite.")
                         .arg(number(logs.tolerance, 3)));
    return tip + paragraph(relativeDefinition());
}

QStringList onsetNotes(const curves::Overlay& overlay, const PlottedCurve& curve)
{
    if (!isLoss(overlay)) {
        return {};
    }
    if (!overlay.wholeRun) {
        return { Curves::tr("Not all ranks of both runs are here: a single rank's log sets no onset.") };
    }
    if (overlay.onset || curve.difference.points == 0) {
        return {};
    }
    return { curve.finite == 0 ? Curves::tr("No onset can be told: no common step has finite losses on both sides.")
                               : Curves::tr("No onset: the losses agree within 100 times the floor at every common step.") };
}

QStringList onsetNotes(const curves::SeriesOverlay& overlay, const curves::SeriesComparison& logs)
{
    if (overlay.common == 0) {
        return overlay.curve.a.empty() || overlay.curve.b.empty() ? QStringList() : QStringList { Curves::tr("A and B have no step in common.") };
    }
    return overlay.curve.onset ? QStringList()
                               : QStringList { Curves::tr("No onset: A and B agree at every common step (%1).").arg(toleranceText(logs)) };
}

QStringList curveNotes(const curves::Overlay& overlay, const PlottedCurve& curve, const CurveOptions& options)
{
    QStringList notes;
    if (overlay.a.empty()) {
        notes += Curves::tr("A does not have this scalar.");
    }
    if (overlay.b.empty()) {
        notes += Curves::tr("B does not have this scalar.");
    }
    if (options.logValues && (curve.a.hidden || curve.b.hidden)) {
        notes += Curves::tr("The log axis hides values at or below zero: %1 of A, %2 of B.").arg(curve.a.hidden).arg(curve.b.hidden);
    }
    if (options.logDifference && curve.difference.hidden) {
        notes += Curves::tr("The log axis of |B - A| hides %1 steps with equal values.").arg(curve.difference.hidden);
    }
    QStringList nonFinite;
    if (!curve.a.nonFinite.empty()) {
        nonFinite += nonFiniteWords(QStringLiteral("A"), curve.a);
    }
    if (!curve.b.nonFinite.empty()) {
        nonFinite += nonFiniteWords(QStringLiteral("B"), curve.b);
    }
    if (!nonFinite.isEmpty()) {
        notes += Curves::tr("Gaps marked at the top: %1.").arg(nonFinite.join(QStringLiteral("; ")));
    }
    if (curve.a.tooLarge + curve.b.tooLarge > 0) {
        notes += Curves::tr("Values beyond 1e250 are too large for an axis and drawn as infinite: %1 of A, %2 of B.").arg(curve.a.tooLarge).arg(curve.b.tooLarge);
    }
    return notes;
}

CurveReadout readoutAt(const curves::Overlay& overlay, std::int32_t step)
{
    CurveReadout out;
    out.step = step;
    const auto a = valueAt(overlay.a, step), b = valueAt(overlay.b, step);
    out.a = a ? number(*a, 6) : QString();
    out.b = b ? number(*b, 6) : QString();
    if (a && b) {
        const double difference = *a == *b ? 0 : *b - *a;
        out.difference = number(difference, 4);
        out.relative = std::isfinite(difference) ? number(relativeDifference(*a, *b), 3) : QString();
    }
    return out;
}

QString CurveReadout::text() const
{
    const auto shown = [](const QString& value) { return value.isEmpty() ? Curves::tr("no value") : value; };
    QString out = Curves::tr("step %1: A %2, B %3").arg(QLocale().toString(step)).arg(shown(a), shown(b));
    if (!difference.isEmpty()) {
        out += Curves::tr(", B - A %1").arg(difference);
    }
    if (!relative.isEmpty()) {
        out += Curves::tr(", relative %1").arg(relative);
    }
    return out;
}

} // namespace forkpoint::ui
