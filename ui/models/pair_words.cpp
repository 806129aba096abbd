// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/pair_words.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <string>

namespace forkpoint::ui {

namespace {

constexpr char32_t kControlPictures = 0x2400;
constexpr char32_t kDeletePicture = 0x2421;
constexpr QChar kIsolate(0x2068), kPopIsolate(0x2069);

/// Invisible characters that change the direction or the look of what follows.
bool isOverride(char32_t c)
{
    return (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0x80 && c < 0xA0);
}

bool runsRightToLeft(char32_t c)
{
    const auto direction = QChar::direction(c);
    return direction == QChar::DirR || direction == QChar::DirAL;
}

struct Words {
    Q_DECLARE_TR_FUNCTIONS(PairWords)
};

bool isUsual(const align::PairKey& key)
{
    using bundle::Kind;
    using bundle::Phase;
    switch (key.phase) {
    case Phase::Start:
    case Phase::Optimizer:
        return key.kind == Kind::Param;
    case Phase::Data:
        return key.kind == Kind::Batch;
    case Phase::Forward:
        return key.kind == Kind::Output;
    case Phase::Backward:
    case Phase::Reduce:
        return key.kind == Kind::Grad;
    }
    return false;
}

} // namespace

QString shown(std::string_view text)
{
    const auto decoded = QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
    QString out;
    out.reserve(decoded.size());
    bool isolate = false;
    for (const char32_t c : decoded.toUcs4()) {
        if (c < 0x20) {
            out += QChar(static_cast<ushort>(kControlPictures + c));
        } else if (c == 0x7F) {
            out += QChar(static_cast<ushort>(kDeletePicture));
        } else if (isOverride(c)) {
            out += QStringLiteral("\\u%1").arg(static_cast<uint>(c), 4, 16, QLatin1Char('0'));
        } else {
            isolate = isolate || runsRightToLeft(c);
            out += QString::fromUcs4(&c, 1);
        }
    }
    return isolate ? kIsolate + out + kPopIsolate : out;
}

QString tip(const QString& text)
{
    return QStringLiteral("<qt>%1</qt>").arg(text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")));
}

QString tip(const QString& bold, const QString& text)
{
    return QStringLiteral("<qt><b>%1</b><br>%2</qt>").arg(bold.toHtmlEscaped(), text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")));
}

QString phaseWord(bundle::Phase phase)
{
    switch (phase) {
    case bundle::Phase::Start:
        return Words::tr("start");
    case bundle::Phase::Data:
        return Words::tr("data");
    case bundle::Phase::Forward:
        return Words::tr("forward");
    case bundle::Phase::Backward:
        return Words::tr("backward");
    case bundle::Phase::Reduce:
        return Words::tr("reduce");
    case bundle::Phase::Optimizer:
        return Words::tr("optimizer");
    }
    return {};
}

QString phaseAbbreviation(bundle::Phase phase)
{
    switch (phase) {
    case bundle::Phase::Start:
    case bundle::Phase::Data:
        return phaseWord(phase);
    case bundle::Phase::Forward:
        return Words::tr("fwd", "short for forward");
    case bundle::Phase::Backward:
        return Words::tr("bwd", "short for backward");
    case bundle::Phase::Reduce:
        return Words::tr("red", "short for reduce");
    case bundle::Phase::Optimizer:
        return Words::tr("opt", "short for optimizer");
    }
    return {};
}

QString kindWord(bundle::Kind kind)
{
    switch (kind) {
    case bundle::Kind::Batch:
        return Words::tr("batch");
    case bundle::Kind::Input:
        return Words::tr("input");
    case bundle::Kind::Output:
        return Words::tr("output");
    case bundle::Kind::GradOutput:
        return Words::tr("grad of output");
    case bundle::Kind::Grad:
        return Words::tr("grad");
    case bundle::Kind::Param:
        return Words::tr("param");
    case bundle::Kind::Buffer:
        return Words::tr("buffer");
    case bundle::Kind::OptimizerState:
        return Words::tr("optimizer state");
    case bundle::Kind::Scale:
        return Words::tr("scale");
    }
    return {};
}

QString ruleWord(align::Rule rule)
{
    switch (rule) {
    case align::Rule::Mapped:
        return Words::tr("mapped");
    case align::Rule::Exact:
        return Words::tr("same name");
    case align::Rule::Normalised:
        return Words::tr("unwrapped name");
    case align::Rule::ClassOrder:
        return Words::tr("class and order");
    case align::Rule::SlotOrder:
        return Words::tr("slot order");
    case align::Rule::None:
        return Words::tr("none");
    }
    return {};
}

QString ruleSentence(const align::Pair& pair)
{
    QString text;
    switch (pair.rule) {
    case align::Rule::Mapped:
        text = Words::tr("The mapping that you gave says so (%1).").arg(QString::fromStdString(pair.mappedBy));
        break;
    case align::Rule::Exact:
        text = Words::tr("Both runs use the same name.");
        break;
    case align::Rule::Normalised:
        text = Words::tr("The names are equal once the prefixes of wrappers (DDP, FSDP, compile) are taken off.");
        break;
    case align::Rule::ClassOrder:
        text = Words::tr("The modules have the same class and parameters, in the same order under a matched parent.");
        break;
    case align::Rule::SlotOrder:
        text = Words::tr("Same module and call; the slots have other names (position against keyword).");
        break;
    case align::Rule::None:
        return statusSentence(pair.status);
    }
    return pair.guess ? Words::tr("%1 How the ranks' parts fit together was not declared: it is a guess from shapes and content.").arg(text) : text;
}

QString statusSentence(align::PairStatus status)
{
    switch (status) {
    case align::PairStatus::Matched:
        return {};
    case align::PairStatus::OnlyA:
        return Words::tr("Exists in the reference only.");
    case align::PairStatus::OnlyB:
        return Words::tr("Exists in the candidate only.");
    case align::PairStatus::Unrelated:
        return Words::tr("Matched by name, but the shapes cannot be related.");
    case align::PairStatus::NotObserved:
        return Words::tr("The recorder could not see it on one side.");
    }
    return {};
}

QString tensorName(const align::PairKey& key)
{
    QString text = shown(key.name());
    if (key.call > 0) {
        text += QStringLiteral("#%1").arg(key.call);
    }
    if (!key.slot.empty()) {
        text += QLatin1Char(':') + shown(key.slot);
    }
    return text;
}

QString shortName(const align::PairKey& key)
{
    const QString name = tensorName(key);
    if (isUsual(key)) {
        return Words::tr("%1 / %2", "phase / name").arg(phaseWord(key.phase), name);
    }
    if (key.kind == bundle::Kind::GradOutput) {
        return Words::tr("%1 / grad of %2", "phase / gradient of a module's output").arg(phaseWord(key.phase), name);
    }
    return Words::tr("%1 / %2 (%3)", "phase / name (kind)").arg(phaseWord(key.phase), name, kindWord(key.kind));
}

QString fullName(const align::PairKey& key)
{
    const QString phase = key.micro > 0 ? Words::tr("%1, micro-step %2").arg(phaseWord(key.phase)).arg(key.micro) : phaseWord(key.phase);
    return QStringLiteral("%1 / %2 / %3").arg(phase, kindWord(key.kind), tensorName(key));
}

QString dtypeText(DType dtype) { return shown(name(dtype)); }

QString dtypeText(const align::Pair& pair)
{
    const QString a = dtypeText(pair.dtypeA), b = dtypeText(pair.dtypeB);
    return pair.status == align::PairStatus::OnlyB ? b : pair.status == align::PairStatus::OnlyA || a == b ? a : QStringLiteral("%1 → %2").arg(a, b);
}

QString shapeText(const Shape& shape)
{
    if (shape.empty()) {
        return Words::tr("scalar");
    }
    QStringList sizes;
    for (const auto size : shape) {
        sizes += QString::number(size);
    }
    return QStringLiteral("[%1]").arg(sizes.join(QStringLiteral(", ")));
}

QString shapeText(const align::Pair& pair)
{
    const QString a = shapeText(pair.shapeA), b = shapeText(pair.shapeB);
    return pair.status == align::PairStatus::OnlyB ? b : pair.status == align::PairStatus::OnlyA || a == b ? a : QStringLiteral("%1 → %2").arg(a, b);
}

QString indexText(const Shape& shape, std::int64_t flat)
{
    if (flat < 0) {
        return {};
    }
    std::vector<std::int64_t> index(shape.size());
    for (std::size_t dim = shape.size(); dim-- > 0;) {
        if (shape[dim] <= 0) {
            return {};
        }
        index[dim] = flat % shape[dim];
        flat /= shape[dim];
    }
    QStringList parts;
    for (const auto i : index) {
        parts += QString::number(i);
    }
    return QStringLiteral("[%1]").arg(parts.join(QStringLiteral(", ")));
}

QString stepsText(const std::vector<int>& steps)
{
    if (steps.empty()) {
        return Words::tr("none");
    }
    const bool gapless = steps.back() - steps.front() + 1 == static_cast<int>(steps.size());
    if (steps.size() > 1 && gapless) {
        return QStringLiteral("%1-%2").arg(steps.front()).arg(steps.back());
    }
    constexpr std::size_t kListed = 8;
    QStringList parts;
    for (std::size_t i = 0; i < std::min(steps.size(), kListed); ++i) {
        parts += QString::number(steps[i]);
    }
    if (steps.size() > kListed) {
        parts += QStringLiteral("… %1").arg(steps.back());
    }
    return parts.join(QStringLiteral(", "));
}

QString ranksText(std::size_t recorded, int worldSize)
{
    const int n = static_cast<int>(recorded);
    return n == worldSize ? Words::tr("%n rank(s)", nullptr, n) : Words::tr("%1 of %n rank(s)", nullptr, worldSize).arg(n);
}

QString bytesText(std::uint64_t bytes) { return QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeTraditionalFormat); }

} // namespace forkpoint::ui
