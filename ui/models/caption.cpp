// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/caption.h"

#include "ui/models/log_words.h"
#include "ui/models/pair_words.h"
#include "ui/models/verdict_words.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QCoreApplication>
#include <QPainter>

namespace forkpoint::ui {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Caption)
};

} // namespace

std::pair<QString, QString> runNames(const Session& session)
{
    if (const auto& logs = session.logs()) {
        return { shown(logs->a.name), shown(logs->b.name) };
    }
    if (const auto& comparison = session.comparison()) {
        const auto& alignment = comparison->structure().alignment;
        return { shown(alignment.a.label), shown(alignment.b.label) };
    }
    return {};
}

QString colouringCaption(const Session& session)
{
    if (!session.comparison()) {
        return {};
    }
    switch (session.colourBy()) {
    case ColourBy::Severity:
        return Words::tr("coloured by severity");
    case ColourBy::OutputError:
        return Words::tr("coloured by output error");
    case ColourBy::AddedError:
        return Words::tr("coloured by new error");
    }
    return {};
}

QString pairCaption(const Session& session)
{
    const auto pair = session.selection().pair;
    return session.comparison() && pair ? fullName(session.comparison()->structure().alignment.pairs[*pair].key) : QString();
}

QString captionText(const Session& session, const QStringList& about)
{
    const auto& comparison = session.comparison();
    QStringList parts;
    if (const auto [a, b] = runNames(session); !a.isEmpty()) {
        parts += QStringLiteral("A %1, B %2").arg(a, b);
    }
    if (session.logs()) {
        parts += about;
        parts += toleranceText(*session.logs());
    } else if (comparison) {
        parts += Words::tr("step %1").arg(session.selection().step);
        parts += about;
        parts += floorText(*comparison);
        if (!comparison->outcome()) {
            parts += Words::tr("partial: %1 of %2 pairs").arg(comparison->ready()).arg(comparison->pairs());
        }
    }
    parts += QStringLiteral("Forkpoint %1").arg(QStringLiteral(FORKPOINT_VERSION));
    parts.removeAll(QString());
    return parts.join(QStringLiteral("  ·  "));
}

QImage withCaption(const QImage& image, const QString& text)
{
    constexpr int kPadding = 10;
    const auto& theme = Theme::current();
    const double ratio = image.devicePixelRatio();
    const QFontMetrics metrics(QApplication::font());
    const int width = qRound(image.width() / ratio), height = qRound(image.height() / ratio), strip = metrics.height() + 8;
    QImage out(QSize(image.width(), image.height() + qRound(strip * ratio)), QImage::Format_RGB32);
    out.setDevicePixelRatio(ratio);
    out.fill(theme.raised);
    QPainter painter(&out);
    painter.drawImage(QPoint(0, 0), image);
    painter.setPen(theme.border);
    painter.drawLine(0, height, width, height);
    painter.setPen(theme.muted);
    painter.setFont(QApplication::font());
    painter.drawText(QRect(kPadding, height, width - 2 * kPadding, strip), Qt::AlignVCenter,
                     metrics.elidedText(text, Qt::ElideMiddle, width - 2 * kPadding));
    return out;
}

} // namespace forkpoint::ui
