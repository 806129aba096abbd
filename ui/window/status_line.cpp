// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/status_line.h"

#include "core/compare/pair_counts.h"
#include "ui/models/log_words.h"
#include "ui/models/pair_words.h"
#include "ui/models/verdict_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"

#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QToolButton>

namespace forkpoint::ui {

namespace {

/// Bytes of the tensors compared so far, both sides. What equal digests made needless to read counts too.
std::uint64_t bytesCompared(const compare::Snapshot& comparison)
{
    std::uint64_t bytes = 0;
    const auto& pairs = comparison.structure().alignment.pairs;
    for (std::size_t i = 0; i < comparison.ready(); ++i) {
        const auto each = itemSize(pairs[i].dtypeA) + itemSize(pairs[i].dtypeB);
        for (const auto& lane : comparison.result(i).lanes) {
            bytes += static_cast<std::uint64_t>(lane.statistics.count) * each;
        }
    }
    return bytes;
}

constexpr int kPatience = 300; ///< milliseconds: a job that is done sooner is not worth a flicker

/// The stage keys of core's progress, for people.
QString stageWord(const QString& stage)
{
    return stage == QLatin1String("read") ? StatusLine::tr("reading")
        : stage == QLatin1String("align") ? StatusLine::tr("matching")
        : stage == QLatin1String("measure") ? StatusLine::tr("measuring")
                                            : stage;
}

} // namespace

StatusLine::StatusLine(Session& session, const QString& language, QWidget* parent)
    : QStatusBar(parent)
    , m_session(session)
    , m_compared(new QLabel)
    , m_floor(new QLabel)
    , m_job(new ElidedLabel)
    , m_right(new QLabel)
    , m_progress(new QProgressBar)
    , m_cancel(new QToolButton)
{
    setSizeGripEnabled(false);
    setContentsMargins(6, 0, 6, 0);
    m_progress->setFixedSize(120, 10);
    m_progress->setTextVisible(false);
    m_progress->setRange(0, 1000);
    m_cancel->setText(tr("Cancel"));
    m_cancel->setToolTip(tip(tr("Stop. What is ready stays, marked as partial.")));
    m_cancel->setFocusPolicy(Qt::StrongFocus);
    for (QLabel* label : { m_compared, m_floor, static_cast<QLabel*>(m_job), m_right }) {
        label->setTextFormat(Qt::PlainText);
        label->setForegroundRole(QPalette::PlaceholderText);
    }
    m_job->setMaximumWidth(320);
    addWidget(m_compared);
    addWidget(m_floor);
    addWidget(m_job);
    addWidget(m_progress);
    addWidget(m_cancel);
    m_patience.setSingleShot(true);
    m_patience.setInterval(kPatience);
    connect(&m_patience, &QTimer::timeout, this, [this] { showJob(true); });
    m_right->setText(QStringLiteral("%1    Forkpoint %2").arg(language, QStringLiteral(FORKPOINT_VERSION)));
    addPermanentWidget(m_right);
    auto& jobs = session.jobs();
    connect(&jobs, &JobRunner::started, this, [this](const QString& tag, const QString& title) {
        if (!title.isEmpty()) {
            m_titled.push_back({ tag, title, 0 });
            followJobs();
        }
    });
    connect(&jobs, &JobRunner::progressed, this, [this](const QString& tag, const QString& stage, double fraction) {
        for (auto& job : m_titled) {
            if (job.tag == tag) {
                job.text = stageWord(stage);
                job.fraction = fraction;
            }
        }
        followJobs();
    });
    connect(&jobs, &JobRunner::finished, this, [this](const QString& tag) {
        std::erase_if(m_titled, [&](const TitledJob& job) { return job.tag == tag; });
        followJobs();
    });
    connect(m_cancel, &QToolButton::clicked, this, [this] {
        if (m_session.state() == Session::State::Loading) {
            m_session.cancel();
        } else if (!m_titled.empty()) {
            m_session.jobs().cancel(m_titled.front().tag);
        }
    });
    connect(&session, &Session::structureChanged, this, &StatusLine::refresh);
    connect(&session, &Session::resultsChanged, this, &StatusLine::refresh);
    connect(&session, &Session::stateChanged, this, &StatusLine::refresh);
    followJobs();
    refresh();
}

QString StatusLine::text() const { return QStringList { m_compared->text(), m_floor->text(), m_job->isHidden() ? QString() : m_job->text(), m_right->text() }.join(QLatin1Char('|')); }

/// The oldest one is shown: what comes and goes while runs are being compared does not hide how far that is.
void StatusLine::followJobs()
{
    if (m_titled.empty()) {
        m_patience.stop();
        showJob(false);
        return;
    }
    m_job->setText(m_titled.front().text);
    m_progress->setValue(static_cast<int>(m_titled.front().fraction * 1000));
    if (m_session.state() == Session::State::Loading) {
        showJob(true);
    } else if (m_job->isHidden() && !m_patience.isActive()) {
        m_patience.start();
    }
}

void StatusLine::showJob(bool show)
{
    for (QWidget* widget : { static_cast<QWidget*>(m_job), static_cast<QWidget*>(m_progress), static_cast<QWidget*>(m_cancel) }) {
        widget->setVisible(show);
    }
}

void StatusLine::refresh()
{
    const auto& comparison = m_session.comparison();
    if (const auto& logs = m_session.logs()) {
        m_compared->setText(commonCurvesText(*logs));
        m_floor->setText(QStringLiteral("    ") + toleranceText(*logs));
        return;
    }
    if (!comparison) {
        m_compared->clear();
        m_floor->clear();
        return;
    }
    const int compared = static_cast<int>(compare::countPairs(*comparison).compared());
    QStringList parts;
    parts += comparison->outcome() ? tr("%n pair(s) compared", nullptr, compared)
                                   : tr("%1 of %n pair(s) compared", nullptr, static_cast<int>(comparison->pairs())).arg(compared);
    parts += bytesText(bytesCompared(*comparison));
    parts += tr("backend %1").arg(shown(comparison->structure().backend));
    m_compared->setText(parts.join(tr(", ", "between parts of a list")));
    m_floor->setText(QStringLiteral("    ") + floorText(*comparison));
}

} // namespace forkpoint::ui
