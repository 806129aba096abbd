// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/heatmap_words.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QLocale>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>

namespace forkpoint::ui {

using heatmap::Mode;

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Heatmap)
};

/// A tensor of which only digest and statistics were recorded.
const bundle::TensorRecord* withoutBytes(const align::Assembly& assembly)
{
    for (const auto& row : assembly.parts) {
        for (const auto& part : row) {
            if (part.record && !part.record->bytes && elementCount(part.record->shape).value_or(1) != 0) {
                return part.record;
            }
        }
    }
    return nullptr;
}

/// A portable comparison holds few tensors.
QString whyNotKept(const compare::Snapshot& comparison, std::size_t pair, std::size_t lane)
{
    const auto& kept = *comparison.structure().kept;
    if (kept.form(pair, lane) != compare::KeptTensors::Form::Nothing) {
        return {};
    }
    const auto& result = comparison.result(pair);
    const bool equal = lane < result.lanes.size() && result.lanes[lane].statistics.bitEqual == result.lanes[lane].statistics.count;
    QString text = equal            ? Words::tr("The two tensors are equal in every bit. Their elements are not in this portable comparison.")
        : kept.kept() == 0 ? Words::tr("The elements of this tensor are not in this portable comparison: it was written without any tensors.")
                           : Words::tr("The elements of this tensor are not in this portable comparison: it holds those of the fork and of the pairs that differ most, as "
                                     "far as its size allows.");
    const auto run = [](const QString& letter, const compare::Origin& origin) {
        const QString label = shown(origin.label), path = shown(origin.path);
        return QLatin1Char('\n') + (path.isEmpty() ? QStringLiteral("%1  %2").arg(letter, label) : QStringLiteral("%1  %2 (%3)").arg(letter, label, path));
    };
    text += QStringLiteral("\n\n") + Words::tr("To see them, open the two runs that it was made from:");
    return text + run(QStringLiteral("A"), kept.provenance().a) + run(QStringLiteral("B"), kept.provenance().b);
}

QString dimsText(const heatmap::DimRange& dims)
{
    return dims.count == 0 ? Words::tr("no dim")
        : dims.count == 1  ? Words::tr("dim %1").arg(dims.first)
                           : Words::tr("dims %1-%2").arg(dims.first).arg(dims.end() - 1);
}

} // namespace

QString modeWord(Mode mode)
{
    switch (mode) {
    case Mode::A:
        return QStringLiteral("A");
    case Mode::B:
        return QStringLiteral("B");
    case Mode::Difference:
        return QStringLiteral("B − A");
    case Mode::AbsDifference:
        return QStringLiteral("|B − A|");
    case Mode::Relative:
        return Words::tr("rel", "short for relative error, on a button");
    case Mode::Ulp:
        return Words::tr("ULP");
    case Mode::OverTolerance:
        return Words::tr("over", "short for over tolerance, on a button");
    }
    return {};
}

QString modeName(Mode mode)
{
    switch (mode) {
    case Mode::Relative:
        return Words::tr("relative error");
    case Mode::Ulp:
        return Words::tr("ULP distance");
    case Mode::OverTolerance:
        return Words::tr("over tolerance");
    default:
        return modeWord(mode);
    }
}

QString modeDefinition(Mode mode, const heatmap::PyramidOptions& options)
{
    switch (mode) {
    case Mode::A:
        return Words::tr("The values of the reference. Where several share a pixel, the one of largest magnitude.");
    case Mode::B:
        return Words::tr("The values of the candidate. Where several share a pixel, the one of largest magnitude.");
    case Mode::Difference:
        return Words::tr("d = B − A with its sign. Where several share a pixel, the one of largest magnitude.");
    case Mode::AbsDifference:
        return Words::tr("|d| with d = B − A. Where several share a pixel, the largest.");
    case Mode::Relative:
        return Words::tr("|d| / max(|a|, |b|), the symmetric relative error; 0/0 is 0. Where several share a pixel, the largest.");
    case Mode::Ulp:
        return Words::tr("How many representable numbers lie between a and b, in units in the last place of their common type; integers: |b − a|. Where "
                         "several share a pixel, the largest.");
    case Mode::OverTolerance:
        return Words::tr("Equal, within, or over: not |d| <= atol + rtol × |a|, as torch.isclose(B, A) with rtol %1 and atol %2. NaN and unequal "
                         "infinities are over. Where several share a pixel, the worst.")
            .arg(number(options.rtol), number(options.atol));
    }
    return {};
}

QString colourMapWord(heatmap::ColourMap map)
{
    switch (map) {
    case heatmap::ColourMap::Viridis:
        return Words::tr("viridis");
    case heatmap::ColourMap::Cividis:
        return Words::tr("cividis");
    case heatmap::ColourMap::Grey:
        return Words::tr("grey");
    case heatmap::ColourMap::BlueWhiteOrange:
        return Words::tr("diverging");
    }
    return {};
}

QString scaleWord(heatmap::RangeScale scale)
{
    switch (scale) {
    case heatmap::RangeScale::Linear:
        return Words::tr("linear");
    case heatmap::RangeScale::Log:
        return Words::tr("log");
    case heatmap::RangeScale::SymLog:
        return Words::tr("log both ways");
    }
    return {};
}

QString rangeText(const heatmap::Normalisation& range)
{
    return Words::tr("%1 to %2, %3", "low to high, scale").arg(number(range.range.low, 3), number(range.range.high, 3), scaleWord(range.scale));
}

QString indexText(const std::vector<std::int64_t>& index)
{
    QStringList parts;
    for (const auto i : index) {
        parts += QString::number(i);
    }
    return QStringLiteral("[%1]").arg(parts.join(QStringLiteral(", ")));
}

QString axesText(const Shape& shape, const heatmap::SliceAxes& axes)
{
    QStringList parts;
    if (axes.rows.count > 0) {
        parts += Words::tr("rows: %1").arg(dimsText(axes.rows));
        parts += Words::tr("columns: %1").arg(dimsText(axes.columns));
    } else if (axes.foldWidth > 0) {
        parts += Words::tr("one line, continued after %1").arg(axes.foldWidth);
    }
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        if (!axes.rows.contains(dim) && !axes.columns.contains(dim)) {
            parts += Words::tr("dim %1 at %2").arg(dim).arg(dim < axes.fixed.size() ? axes.fixed[dim] : 0);
        }
    }
    return parts.join(QStringLiteral(", "));
}

QString whyNothing(const Session& session)
{
    const auto& comparison = session.comparison();
    const auto selected = session.selection().pair;
    if (!comparison) {
        switch (session.state()) {
        case Session::State::Loading:
            return Words::tr("The elements appear when the runs are read.");
        case Session::State::Failed:
            return Words::tr("There is nothing to look at: the runs could not be compared.");
        default:
            return Words::tr("Open two runs to see their elements.");
        }
    }
    if (!selected) {
        return Words::tr("Select a pair, in the list or in the graph, to see its elements.");
    }
    const auto& pair = comparison->structure().alignment.pairs[*selected];
    const QString note = pair.note.empty() ? QString() : QStringLiteral("\n\n") + shown(pair.note);
    switch (pair.status) {
    case align::PairStatus::Matched:
        break;
    case align::PairStatus::OnlyA:
        return Words::tr("Only the reference has this tensor: there is nothing to compare it with.") + note;
    case align::PairStatus::OnlyB:
        return Words::tr("Only the candidate has this tensor: there is nothing to compare it with.") + note;
    case align::PairStatus::Unrelated:
        return Words::tr("The shapes cannot be related: A %1, B %2. Their elements cannot be laid over each other.").arg(shapeText(pair.shapeA), shapeText(pair.shapeB))
            + note;
    case align::PairStatus::NotObserved:
        return Words::tr("The recorder could not see this tensor on one side.") + note;
    }
    if (pair.lanes.empty()) {
        return Words::tr("The parts of this tensor could not be put together.") + note;
    }
    if (session.selection().lane < 0 && *selected >= comparison->ready()) {
        return session.state() == Session::State::Loading ? Words::tr("This pair is not measured yet. Its elements appear when it is.")
                                                          : Words::tr("This pair was not measured: the comparison was stopped. Compare again to see its elements.");
    }
    const auto lane = session.selection().lane >= 0 ? static_cast<std::size_t>(session.selection().lane) : comparison->result(*selected).worst;
    const auto& it = pair.lanes[std::min(lane, pair.lanes.size() - 1)];
    const auto countA = elementCount(it.a.shape).value_or(0), countB = elementCount(it.b.shape).value_or(0);
    if (countA != countB) {
        return Words::tr("A has %1 elements and B %2, so they cannot be laid over each other.").arg(countA).arg(countB) + note;
    }
    if (countA == 0) {
        return Words::tr("This tensor has no elements: its shape is %1.").arg(shapeText(it.a.shape));
    }
    if (comparison->structure().kept) {
        return whyNotKept(*comparison, *selected, std::min(lane, pair.lanes.size() - 1));
    }
    const auto& alignment = comparison->structure().alignment;
    const auto silent = [](const align::Side& side, const align::Assembly& assembly) { // files of tensors have every value
        return side.bundle->isRecording() ? withoutBytes(assembly) : nullptr;
    };
    const auto* a = silent(alignment.a, it.a);
    const auto* b = silent(alignment.b, it.b);
    if (!a && !b) {
        return {};
    }
    const auto* record = a ? a : b;
    QString text = a && b ? Words::tr("Neither run recorded the values of this tensor.")
        : a               ? Words::tr("The reference did not record the values of this tensor.")
                          : Words::tr("The candidate did not record the values of this tensor.");
    if (record->digest) {
        const bool equal = a && b && a->digest == b->digest && it.a.soleRecord() && it.b.soleRecord();
        text += QLatin1Char(' ')
            + (equal ? Words::tr("Both have the same digest, so they are equal in every bit.") : Words::tr("There are a digest and statistics only; they are in the details."));
    }
    return text + QStringLiteral("\n\n") + Words::tr("Record it with its values to see the elements.");
}

QString whyUnreadable(const Error& error)
{
    if (error.code == ErrorCode::Cancelled) {
        return Words::tr("Reading was stopped.");
    }
    return Words::tr("The elements could not be read.\n\n%1\n\nIf the run is on a disk that was away, read again; if the file is damaged, copy or record the "
                     "run again.")
        .arg(shown(error.text()));
}

QString rangeToText(const heatmap::ValueRange& range)
{
    return QStringLiteral("%1 %2").arg(QString::number(range.low, 'g', 17), QString::number(range.high, 'g', 17));
}

std::optional<heatmap::ValueRange> rangeFromText(const QString& text)
{
    static const QRegularExpression separators(QStringLiteral("[\\s,;\\[\\]()]+"));
    const auto parts = text.split(separators, Qt::SkipEmptyParts);
    if (parts.size() != 2) {
        return std::nullopt;
    }
    bool okLow = false, okHigh = false;
    const heatmap::ValueRange range { parts[0].toDouble(&okLow), parts[1].toDouble(&okHigh) };
    const bool fine = okLow && okHigh && std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high;
    return fine ? std::optional(range) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> indexFromText(const QString& text, const Shape& shape, QString& problem)
{
    static const QRegularExpression separators(QStringLiteral("[\\s,;\\[\\]()]+"));
    const auto parts = text.split(separators, Qt::SkipEmptyParts);
    std::vector<std::int64_t> index;
    for (const auto& part : parts) {
        bool ok = false;
        index.push_back(part.toLongLong(&ok));
        if (!ok) {
            problem = Words::tr("“%1” is no whole number.").arg(part);
            return std::nullopt;
        }
    }
    const std::int64_t count = elementCount(shape).value_or(0);
    if (index.size() == 1 && shape.size() != 1) {
        std::int64_t flat = index[0];
        if (flat < 0 || flat >= count) {
            problem = Words::tr("The tensor has the flat indexes 0 to %1.").arg(count - 1);
            return std::nullopt;
        }
        index.assign(shape.size(), 0);
        for (std::size_t dim = shape.size(); dim-- > 0;) {
            index[dim] = flat % shape[dim];
            flat /= shape[dim];
        }
        return index;
    }
    if (index.size() != shape.size()) {
        problem = Words::tr("%n number(s) are needed, one per dim, or one flat index.", nullptr, static_cast<int>(shape.size()));
        return std::nullopt;
    }
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        if (index[dim] < 0 || index[dim] >= shape[dim]) {
            problem = Words::tr("Dim %1 has the indexes 0 to %2.").arg(dim).arg(shape[dim] - 1);
            return std::nullopt;
        }
    }
    return index;
}

} // namespace forkpoint::ui
