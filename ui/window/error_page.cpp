// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/error_page.h"

#include "ui/models/pair_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/centred_page.h"
#include "ui/widgets/elided_label.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace forkpoint::ui {

namespace {

constexpr std::size_t kListedProblems = 6;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Errors)
};

/// The sentence that heads the page: what kind of failure it is.
QString titleOf(ErrorCode code)
{
    switch (code) {
    case ErrorCode::Usage:
        return Words::tr("These runs cannot be compared like this");
    case ErrorCode::NotFound:
        return Words::tr("There is no such file or folder");
    case ErrorCode::NotABundle:
        return Words::tr("This is nothing that can be compared");
    case ErrorCode::Unreadable:
        return Words::tr("The system refuses to read the bundle");
    case ErrorCode::Corrupt:
        return Words::tr("The bundle is damaged");
    case ErrorCode::Truncated:
        return Words::tr("The bundle ends too early");
    case ErrorCode::Unsupported:
        return Words::tr("The bundle needs a newer Forkpoint");
    default:
        return Words::tr("The runs could not be compared");
    }
}

QString nextOf(ErrorCode code)
{
    switch (code) {
    case ErrorCode::NotFound:
        return Words::tr("Check the path, or choose the bundle again.");
    case ErrorCode::NotABundle:
        return Words::tr("Choose the folder that the recorder wrote (it holds rank00000, rank00001 and so on), files of tensors, or two logs.");
    case ErrorCode::Unreadable:
        return Words::tr("Check the permissions of the files and try again.");
    case ErrorCode::Corrupt:
    case ErrorCode::Truncated:
        return Words::tr("Copy it again from where it was recorded, or record it again; “forkpoint-cli verify” lists everything that is wrong with it.");
    case ErrorCode::Unsupported:
        return Words::tr("Update this program, or record the run with a matching version.");
    default:
        return Words::tr("Choose other runs.");
    }
}

QString portableTitleOf(ErrorCode code)
{
    switch (code) {
    case ErrorCode::NotFound:
        return Words::tr("There is no such file or folder");
    case ErrorCode::NotABundle:
        return Words::tr("This is not a portable comparison");
    case ErrorCode::Unreadable:
        return Words::tr("The system refuses to read the file");
    case ErrorCode::Truncated:
        return Words::tr("The file ends too early");
    case ErrorCode::Unsupported:
        return Words::tr("The file needs a newer Forkpoint");
    default:
        return Words::tr("The file is damaged");
    }
}

QString portableNextOf(ErrorCode code)
{
    switch (code) {
    case ErrorCode::NotFound:
        return Words::tr("Check the path, or choose the file again.");
    case ErrorCode::Unreadable:
        return Words::tr("Check the permissions of the files and try again.");
    case ErrorCode::Unsupported:
        return Words::tr("Update this program, or write the file with a matching version.");
    default:
        return Words::tr("Copy it again from where it came from, or write it again: forkpoint-cli compare A B -o X.forkcmp");
    }
}

QString sideText(const QString& letter, const std::optional<align::Side>& side, const QString& path)
{
    if (!side) {
        return Words::tr("%1: no run and no tensors could be read of %2", "letter of the run, path").arg(letter, shown(path.toStdString()));
    }
    std::size_t tensors = 0;
    for (const auto* rank : side->ranks) {
        tensors += rank->tensors.size();
    }
    QString text = Words::tr("%1: %2, %3, steps %4, %n tensor(s)", "letter, name, ranks, steps", static_cast<int>(tensors))
                       .arg(letter, shown(side->label), ranksText(side->ranks.size(), side->bundle->worldSize()), stepsText(side->bundle->steps()));
    const auto& problems = side->bundle->problems();
    for (std::size_t i = 0; i < std::min(problems.size(), kListedProblems); ++i) {
        text += QStringLiteral("\n    %1: %2").arg(shown(problems[i].where), shown(problems[i].message));
    }
    return text;
}

} // namespace

ErrorPage::ErrorPage(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_title(wrappedLabel(nullptr))
    , m_where(wrappedLabel(nullptr, true))
    , m_message(wrappedLabel(nullptr))
    , m_next(wrappedLabel(nullptr))
    , m_readTitle(wrappedLabel(nullptr))
    , m_read(wrappedLabel(nullptr, true))
    , m_retry(new QPushButton(tr("Try again")))
    , m_open(new QPushButton(tr("Choose other runs…")))
    , m_start(new QPushButton(tr("Start screen")))
{
    auto* content = new QWidget;
    content->setMaximumWidth(720);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(24, 40, 24, 24);
    column->setSpacing(8);
    QFont large = m_title->font();
    large.setBold(true);
    large.setPointSizeF(large.pointSizeF() * 1.5);
    m_title->setFont(large);
    QFont bold = m_readTitle->font();
    bold.setBold(true);
    m_readTitle->setFont(bold);
    m_readTitle->setText(tr("What could be read"));
    column->addWidget(m_title);
    column->addWidget(m_where);
    column->addSpacing(4);
    column->addWidget(m_message);
    column->addWidget(m_next);
    column->addSpacing(8);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_open);
    buttons->addWidget(m_retry);
    buttons->addWidget(m_start);
    buttons->addStretch(1);
    column->addLayout(buttons);
    column->addSpacing(16);
    column->addWidget(m_readTitle);
    column->addWidget(m_read);
    column->addStretch(1);
    showCentred(*this, content);
    connect(m_open, &QPushButton::clicked, this, &ErrorPage::openRequested);
    connect(m_start, &QPushButton::clicked, this, &ErrorPage::startRequested);
    connect(m_retry, &QPushButton::clicked, this, [this] {
        m_session.open(QString(m_session.referencePath()), QString(m_session.candidatePath()), QString(m_session.noisePath()));
    });
    connect(&session, &Session::stateChanged, this, &ErrorPage::refresh);
    refresh();
}

QString ErrorPage::text() const
{
    return QStringList { m_title->text(), m_where->text(), m_message->text(), m_next->text(), m_read->text() }.join(QLatin1Char('\n'));
}

void ErrorPage::refresh()
{
    const auto& error = m_session.error();
    if (!error) {
        return;
    }
    const bool portable = m_session.isPortable();
    m_title->setText(portable ? portableTitleOf(error->code) : titleOf(error->code));
    m_where->setText(shown(error->where));
    m_where->setVisible(!error->where.empty());
    m_message->setText(shown(error->message));
    m_next->setText(portable ? portableNextOf(error->code) : nextOf(error->code));
    m_readTitle->setVisible(!portable);
    m_read->setVisible(!portable);
    QStringList read { sideText(QStringLiteral("A"), m_session.reference(), m_session.referencePath()),
        sideText(QStringLiteral("B"), m_session.candidate(), m_session.candidatePath()) };
    m_read->setText(portable ? QString() : read.join(QLatin1Char('\n')));
}

void ErrorPage::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), Theme::current().window); }

} // namespace forkpoint::ui
