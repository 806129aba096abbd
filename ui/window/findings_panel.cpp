// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/findings_panel.h"

#include "core/compare/pair_counts.h"
#include "ui/models/pair_words.h"
#include "ui/models/verdict_words.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"

#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace forkpoint::ui {

namespace {

constexpr std::size_t kListedInputs = 4;

/// A line that selects a pair: icon, name cut in the middle.
class PairLink : public QPushButton {
public:
    explicit PairLink(bool bold, QWidget* parent = nullptr)
        : QPushButton(parent)
    {
        setFlat(true);
        setCursor(Qt::PointingHandCursor);
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
        QFont drawn = font();
        drawn.setBold(bold);
        setFont(drawn);
    }
    void setPair(const QString& name, std::optional<diagnose::Severity> severity, const QString& tipText)
    {
        m_name = name;
        m_severity = severity;
        setAccessibleName(severity ? QStringLiteral("%1, %2").arg(severityWord(*severity), name) : name);
        setToolTip(tipText);
        update();
    }
    QString name() const { return m_name; }
    QSize sizeHint() const override { return { 100, fontMetrics().height() + 5 }; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const auto& theme = Theme::current();
        QPainter painter(this);
        QRect box = rect();
        if (m_severity) {
            constexpr int kIcon = 10;
            paintSeverity(painter, QRectF(1, (height() - kIcon) / 2.0, kIcon, kIcon), *m_severity, theme.strong(*m_severity));
            box.setLeft(kIcon + 7);
        }
        QFont drawn = font();
        drawn.setUnderline(underMouse() || hasFocus());
        painter.setFont(drawn);
        painter.setPen(underMouse() || hasFocus() ? theme.accent : theme.text);
        painter.drawText(box, Qt::AlignVCenter, QFontMetrics(drawn).elidedText(m_name, Qt::ElideMiddle, box.width()));
    }

private:
    QString m_name;
    std::optional<diagnose::Severity> m_severity;
};

} // namespace

FindingsPanel::FindingsPanel(Session& session, QWidget* parent)
    : QWidget(parent)
    , m_session(session)
    , m_note(wrappedLabel(this, true))
    , m_numbers(wrappedLabel(this, true))
    , m_source(wrappedLabel(this, true))
    , m_inputsTitle(wrappedLabel(this, true))
    , m_card(new QWidget)
    , m_fork(new PairLink(true))
    , m_inputs(new QWidget)
    , m_inputsLayout(new QVBoxLayout(m_inputs))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(10, 7, 10, 8);
    layout->setSpacing(4);
    auto* title = new QLabel(tr("Findings"));
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    layout->addWidget(title);
    layout->addWidget(m_note);
    auto* card = new QVBoxLayout(m_card);
    card->setContentsMargins(0, 3, 0, 0);
    card->setSpacing(2);
    card->addWidget(m_fork);
    card->addWidget(m_numbers);
    card->addWidget(m_source);
    card->addWidget(m_inputsTitle);
    m_inputsLayout->setContentsMargins(0, 0, 0, 0);
    m_inputsLayout->setSpacing(0);
    card->addWidget(m_inputs);
    layout->addWidget(m_card);
    connect(m_fork, &QPushButton::clicked, this, [this] { m_session.goToFork(); });
    connect(&session, &Session::structureChanged, this, &FindingsPanel::refresh);
    connect(&session, &Session::stateChanged, this, &FindingsPanel::refresh);
    connect(&session, &Session::verdictReady, this, &FindingsPanel::refresh);
    refresh();
}

QString FindingsPanel::text() const
{
    QStringList lines { m_note->text() };
    if (!m_card->isHidden()) {
        lines += static_cast<PairLink*>(m_fork)->name();
        lines += { m_numbers->text(), m_source->text(), m_inputsTitle->text() };
        for (const auto* link : m_inputs->findChildren<QPushButton*>(QString(), Qt::FindDirectChildrenOnly)) {
            lines += static_cast<const PairLink*>(link)->name();
        }
    }
    lines.removeAll(QString());
    return lines.join(QLatin1Char('\n'));
}

void FindingsPanel::refresh()
{
    const auto& comparison = m_session.comparison();
    const auto* outcome = comparison ? comparison->outcome() : nullptr;
    for (auto* old : m_inputs->findChildren<QPushButton*>(QString(), Qt::FindDirectChildrenOnly)) {
        delete old;
    }
    m_card->setVisible(outcome && outcome->verdict.fork);
    if (!outcome) {
        m_note->setText(m_session.state() == Session::State::Partial ? tr("No verdict: the comparison was stopped.") : tr("Waiting for the verdict."));
        return;
    }
    if (!outcome->verdict.fork) {
        const auto counts = compare::countPairs(*comparison);
        m_note->setText(counts.differing > 0 ? tr("Some tensors differ, and only hashes of them were recorded: record them with --write full or "
                                                  "sketch to see by how much, and where the runs fork.")
                            : counts.compared() == 0 ? tr("Nothing could be compared. The pairs say why.")
                            : comparison->structure().alignment.ranksOfOneRun ? tr("Nothing to explain: what must be equal on all ranks agrees.")
                                                                              : tr("Nothing to explain: no pair is above the floor."));
        return;
    }
    const auto& fork = *outcome->verdict.fork;
    m_note->setText(fork.proven ? tr("The first pair above the floor whose inputs agree:") : tr("The first pair above the floor:"));
    const auto& pairs = comparison->structure().alignment.pairs;
    static_cast<PairLink*>(m_fork)->setPair(shortName(pairs[fork.pair].key), comparison->result(fork.pair).severity,
                                            tip(fullName(pairs[fork.pair].key), tr("Select the fork point.")));
    m_numbers->setText(pairNumbers(*comparison, fork.pair));
    m_source->setText(pairs[fork.pair].source.empty() ? QString() : tr("called at %1").arg(shown(pairs[fork.pair].source)));
    m_source->setVisible(!m_source->text().isEmpty());
    const int inputs = static_cast<int>(fork.after.size());
    m_inputsTitle->setText(!fork.proven   ? tr("Not all of its inputs agree or were recorded. In agreement: %n", nullptr, inputs)
                               : inputs == 0 ? tr("Nothing recorded comes before it.")
                                             : tr("Its %n recorded input(s) agree:", nullptr, inputs));
    for (std::size_t i = 0; i < std::min(fork.after.size(), kListedInputs); ++i) {
        const auto pair = fork.after[i];
        auto* link = new PairLink(false, m_inputs);
        link->setPair(shortName(pairs[pair].key), comparison->result(pair).severity, tip(fullName(pairs[pair].key), pairNumbers(*comparison, pair)));
        connect(link, &QPushButton::clicked, this, [this, pair] { m_session.selectPair(pair); });
        m_inputsLayout->addWidget(link);
    }
    if (fork.after.size() > kListedInputs) {
        m_inputsTitle->setText(m_inputsTitle->text() + QLatin1Char(' ') + tr("(first %1)").arg(kListedInputs));
    }
}

} // namespace forkpoint::ui
