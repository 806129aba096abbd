// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/start_screen.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/centred_page.h"
#include "ui/widgets/elided_label.h"
#include "ui/window/choose_run.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace forkpoint::ui {

namespace {

constexpr int kColumnWidth = 820;
constexpr std::size_t kListed = 5;

/// A row that opens two runs: what it is, and where it is or what it shows.
class RunRow : public QPushButton {
public:
    /// A text of words takes two lines, a path one.
    RunRow(const QString& title, const QString& text, bool words, QWidget* parent)
        : QPushButton(parent)
        , m_title(title)
        , m_text(text)
        , m_words(words)
    {
        setCursor(Qt::PointingHandCursor);
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
        setAccessibleName(title);
        setToolTip(tip(title, text));
    }
    QSize sizeHint() const override { return { 120, (m_words ? 3 : 2) * fontMetrics().height() + 14 }; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const auto& theme = Theme::current();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(hasFocus() || underMouse() ? theme.accent : theme.border, 1));
        painter.setBrush(theme.panel);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
        const QRect box = rect().adjusted(10, 6, -10, -6);
        painter.setPen(theme.text);
        painter.drawText(box, Qt::AlignTop | Qt::TextSingleLine, fontMetrics().elidedText(m_title, Qt::ElideMiddle, box.width()));
        painter.setPen(theme.muted);
        const QRect below = box.adjusted(0, fontMetrics().height() + 2, 0, 0);
        if (m_words) {
            painter.drawText(below, Qt::AlignTop | Qt::TextWordWrap, m_text);
        } else {
            painter.drawText(below, Qt::AlignTop | Qt::TextSingleLine, fontMetrics().elidedText(m_text, Qt::ElideMiddle, below.width()));
        }
    }

private:
    QString m_title, m_text;
    bool m_words;
};

QLabel* heading(const QString& text)
{
    auto* label = new QLabel(text);
    QFont bold = label->font();
    bold.setBold(true);
    label->setFont(bold);
    return label;
}

QString runName(const QString& path) { return shown(QFileInfo(path).completeBaseName().toStdString()); }

} // namespace

QStringList droppedPaths(const QMimeData* data)
{
    QStringList paths;
    for (const auto& url : data->urls()) {
        if (!url.isLocalFile()) {
            return {};
        }
        paths += QDir::cleanPath(url.toLocalFile());
    }
    return paths;
}

DropZone::DropZone(bool reference, QWidget* parent)
    : QWidget(parent)
    , m_reference(reference)
{
    setAcceptDrops(true);
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
    setMinimumHeight(96);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setPath({});
}

void DropZone::setPath(const QString& path)
{
    m_path = path;
    const QString role = m_reference ? tr("A, the reference") : tr("B, the candidate");
    setAccessibleName(path.isEmpty() ? role : QStringLiteral("%1: %2").arg(role, shown(path.toStdString())));
    setToolTip(path.isEmpty() ? QString() : tip(shown(path.toStdString())));
    update();
}

void DropZone::paintEvent(QPaintEvent*)
{
    const auto& theme = Theme::current();
    const QColor colour = m_reference ? theme.a : theme.b;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool active = m_hovered || hasFocus() || underMouse();
    painter.setPen(QPen(active ? colour : theme.border, m_hovered ? 2 : 1.4, m_path.isEmpty() ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(m_hovered ? theme.selection : theme.panel);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1.5, 1.5, -1.5, -1.5), 8, 8);
    const QRect box = rect().adjusted(18, 14, -18, -14);
    QFont large = font();
    large.setBold(true);
    large.setPointSizeF(font().pointSizeF() * 1.3);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    constexpr int kSquare = 14;
    const QFontMetrics metrics(large);
    painter.drawRoundedRect(QRectF(box.left(), box.top() + (metrics.height() - kSquare) / 2.0, kSquare, kSquare), 3, 3);
    painter.setFont(large);
    painter.setPen(theme.text);
    const QString letter = m_reference ? QStringLiteral("A") : QStringLiteral("B");
    QRect line(box.left() + kSquare + 8, box.top(), box.width() - kSquare - 8, metrics.height());
    painter.drawText(line, Qt::AlignVCenter, letter);
    line.setLeft(line.left() + metrics.horizontalAdvance(letter) + 8);
    painter.setFont(font());
    painter.setPen(theme.muted);
    painter.drawText(line, Qt::AlignVCenter, m_reference ? tr("reference") : tr("candidate"));
    const QRect rest(box.left(), line.bottom() + 6, box.width(), box.bottom() - line.bottom() - 6);
    if (m_path.isEmpty()) {
        painter.drawText(rest, Qt::AlignTop | Qt::TextWordWrap, tr("Drop a run, tensors or a log here, or click to choose."));
        return;
    }
    painter.setPen(theme.text);
    QFont bold = font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.drawText(rest, Qt::AlignTop | Qt::TextSingleLine, QFontMetrics(bold).elidedText(runName(m_path), Qt::ElideMiddle, rest.width()));
    painter.setFont(font());
    painter.setPen(theme.muted);
    painter.drawText(rest.adjusted(0, fontMetrics().height() + 2, 0, 0), Qt::AlignTop | Qt::TextSingleLine,
                     fontMetrics().elidedText(shown(m_path.toStdString()), Qt::ElideMiddle, rest.width()));
}

void DropZone::dragEnterEvent(QDragEnterEvent* event)
{
    const auto n = droppedPaths(event->mimeData()).size();
    if (n == 1 || n == 2) {
        m_hovered = true;
        event->acceptProposedAction();
        update();
    }
}

void DropZone::dragLeaveEvent(QDragLeaveEvent*)
{
    m_hovered = false;
    update();
}

void DropZone::dropEvent(QDropEvent* event)
{
    m_hovered = false;
    update();
    event->acceptProposedAction();
    emit dropped(droppedPaths(event->mimeData()));
}

void DropZone::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && rect().contains(event->pos())) {
        emit clicked();
    }
}

void DropZone::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        emit clicked();
    } else {
        QWidget::keyPressEvent(event);
    }
}

StartScreen::StartScreen(QWidget* parent)
    : QWidget(parent)
    , m_a(new DropZone(true))
    , m_b(new DropZone(false))
    , m_portable(new QPushButton(tr("Open a portable comparison…")))
    , m_compare(new QPushButton(tr("Compare")))
    , m_command(new QLineEdit)
{
    auto* content = new QWidget;
    content->setMaximumWidth(kColumnWidth);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(24, 28, 24, 24);
    column->setSpacing(8);

    auto* title = new QLabel(tr("Find where two runs fork"));
    QFont large = title->font();
    large.setPointSizeF(large.pointSizeF() * 1.8);
    large.setBold(true);
    title->setFont(large);
    column->addWidget(title);
    auto* subtitle = wrappedLabel(nullptr, true);
    subtitle->setText(tr("Two runs of the same training should agree and do not. Open what was recorded or logged of both."));
    column->addWidget(subtitle);
    column->addSpacing(8);

    auto* zones = new QHBoxLayout;
    zones->setSpacing(12);
    zones->addWidget(m_a, 1);
    zones->addWidget(m_b, 1);
    column->addLayout(zones);
    auto* row = new QHBoxLayout;
    row->addWidget(m_portable);
    row->addStretch(1);
    row->addWidget(m_compare);
    m_compare->setEnabled(false);
    m_compare->setDefault(true);
    column->addLayout(row);
    column->addSpacing(6);

    auto* lists = new QHBoxLayout;
    lists->setSpacing(12);
    lists->addWidget(makeList(tr("Samples"), &m_samples), 1);
    lists->addWidget(makeList(tr("Recent"), &m_recent), 1);
    column->addLayout(lists);
    column->addSpacing(10);

    column->addWidget(heading(tr("Record your own")));
    auto* how = wrappedLabel(nullptr, true);
    how->setText(tr("Put this before the command that starts your training, once for each run. The script is not changed, and neither are its numbers."));
    column->addWidget(how);
    m_command->setReadOnly(true);
    m_command->setText(QStringLiteral("forkpoint-cli record -o runs/ddp2 --steps 0:3 -- torchrun --nproc_per_node 2 train.py"));
    m_command->setFont(monospace(m_command->font()));
    m_command->setCursorPosition(0);
    m_command->setAccessibleName(tr("Command that records a run"));
    auto* copy = new QToolButton;
    copy->setText(tr("Copy"));
    copy->setFocusPolicy(Qt::StrongFocus);
    connect(copy, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(m_command->text()); });
    auto* commandRow = new QHBoxLayout;
    commandRow->setSpacing(8);
    commandRow->addWidget(m_command, 1);
    commandRow->addWidget(copy);
    column->addLayout(commandRow);
    column->addStretch(1);

    showCentred(*this, content);

    for (const bool reference : { true, false }) {
        connect(zone(reference), &DropZone::clicked, this, [this, reference] { choose(reference); });
        connect(zone(reference), &DropZone::dropped, this, [this, reference](const QStringList& paths) {
            if (paths.size() == 2) {
                emit bothDropped(paths[0], paths[1]);
            } else if (paths.size() == 1 && looksPortable(paths[0])) {
                emit compareRequested({ paths[0], {}, {} });
            } else if (paths.size() == 1) {
                setSide(reference, paths[0]);
            }
        });
    }
    m_portable->setToolTip(tip(tr("One file (.forkcmp) that forkpoint-cli compare A B -o writes; the runs need not be on this machine.")));
    connect(m_portable, &QPushButton::clicked, this, &StartScreen::portableRequested);
    connect(m_compare, &QPushButton::clicked, this, [this] { emit compareRequested({ m_a->path(), m_b->path(), {} }); });
    refresh();
}

QWidget* StartScreen::makeList(const QString& title, QVBoxLayout** list)
{
    auto* box = new QWidget;
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addWidget(heading(title));
    *list = new QVBoxLayout;
    (*list)->setSpacing(6);
    layout->addLayout(*list);
    layout->addStretch(1);
    return box;
}

void StartScreen::refresh()
{
    const auto clear = [](QVBoxLayout* list) {
        while (auto* item = list->takeAt(0)) {
            delete item->widget();
            delete item;
        }
    };
    const auto none = [](QVBoxLayout* list, const QString& text) {
        auto* label = wrappedLabel(nullptr, true);
        label->setText(text);
        list->addWidget(label);
    };
    clear(m_recent);
    clear(m_samples);
    for (const auto& sample : samples()) {
        auto* row = new RunRow(sample.title, sample.text, true, this);
        row->setObjectName(QStringLiteral("sample-%1").arg(sample.name));
        connect(row, &QPushButton::clicked, this, [this, runs = sample.runs] { emit compareRequested(runs); }, Qt::QueuedConnection);
        m_samples->addWidget(row);
    }
    if (m_samples->count() == 0) {
        none(m_samples, tr("No samples are installed beside this program."));
    }
    const auto recent = recentPairs();
    for (std::size_t i = 0; i < std::min(recent.size(), kListed); ++i) {
        const auto& pair = recent[i];
        const QString folder = QFileInfo(pair.reference).absolutePath();
        auto* row = new RunRow(titleOf(pair), shown(folder.toStdString()), false, this);
        // Queued: opening a pair refreshes this list, and would delete the button that was clicked.
        connect(row, &QPushButton::clicked, this, [this, pair] { emit compareRequested(pair); }, Qt::QueuedConnection);
        m_recent->addWidget(row);
    }
    if (recent.empty()) {
        none(m_recent, tr("Nothing yet. Pairs that you open are listed here."));
    }
}

void StartScreen::setSide(bool reference, const QString& path)
{
    zone(reference)->setPath(path);
    m_compare->setEnabled(!m_a->path().isEmpty() && !m_b->path().isEmpty());
    if (m_compare->isEnabled()) {
        m_compare->setFocus();
    }
}

void StartScreen::choose(bool reference)
{
    const QString path = chooseRun(this, reference ? tr("The reference run") : tr("The candidate run"), zone(!reference)->path());
    if (!path.isEmpty()) {
        setSide(reference, path);
    }
}

void StartScreen::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), Theme::current().window); }

} // namespace forkpoint::ui
