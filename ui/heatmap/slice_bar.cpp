// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/heatmap/slice_bar.h"

#include "ui/models/pair_words.h"

#include <QAbstractItemView>
#include <QBoxLayout>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>

#include <algorithm>
#include <limits>

namespace forkpoint::ui {

using heatmap::DimRange;
using heatmap::SliceAxes;

namespace {

constexpr int kBesideFrom = 860, kOneRowFrom = 520; ///< widths at which index lines fit beside the boxes, and the boxes beside the buttons
constexpr int kNarrowest = 300;
constexpr int kLongestSlider = 420;

bool overlap(DimRange x, DimRange y)
{
    return x.count > 0 && y.count > 0 && x.first < y.end() && y.first < x.end();
}

std::int64_t sizeOf(const Shape& shape, DimRange dims)
{
    std::int64_t size = 1;
    for (std::size_t dim = dims.first; dim < dims.end(); ++dim) {
        size *= shape[dim];
    }
    return size;
}

bool isSame(DimRange x, DimRange y)
{
    return x == y || (x.count == 0 && y.count == 0);
}

/// The same picture at the same place or another.
bool isSamePlane(const SliceAxes& x, const SliceAxes& y)
{
    return isSame(x.rows, y.rows) && isSame(x.columns, y.columns) && x.foldWidth == y.foldWidth;
}

QToolButton* textButton(const QString& text, const QString& what)
{
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(tip(text, what));
    button->setCheckable(true);
    return button;
}

QWidget* rowOf(std::initializer_list<QWidget*> widgets)
{
    auto* box = new QWidget;
    auto* layout = new QHBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    for (auto* widget : widgets) {
        layout->addWidget(widget, qobject_cast<QComboBox*>(widget) ? 1 : 0);
    }
    return box;
}

} // namespace

SliceBar::SliceBar(QWidget* parent)
    : QWidget(parent)
    , m_plane(textButton(tr("Plane"), tr("The last two dims; the others at one index")))
    , m_overview(textButton(tr("Overview"), tr("All elements at once: leading dims on the rows, the others on the columns")))
    , m_swap(new QToolButton)
    , m_rows(new QComboBox)
    , m_columns(new QComboBox)
    , m_layout(new QGridLayout(this))
{
    m_plane->setObjectName(QStringLiteral("plane"));
    m_overview->setObjectName(QStringLiteral("overview"));
    m_swap->setObjectName(QStringLiteral("swap"));
    m_rows->setObjectName(QStringLiteral("rows"));
    m_columns->setObjectName(QStringLiteral("columns"));
    m_swap->setText(QStringLiteral("\u21C4"));
    m_swap->setStyleSheet(QStringLiteral("padding:3px 4px"));
    m_swap->setAccessibleName(tr("Exchange rows and columns"));
    m_swap->setToolTip(tip(tr("Exchange rows and columns")));
    for (auto* box : { m_rows, m_columns }) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(6);
        box->setMaximumWidth(220);
        const bool rows = box == m_rows;
        connect(box, &QComboBox::activated, this, [this, rows](int choice) { chooseDims(rows, m_choices[static_cast<std::size_t>(choice)]); });
    }
    auto* rowsLabel = new QLabel(tr("Rows"));
    auto* columnsLabel = new QLabel(tr("Columns"));
    rowsLabel->setBuddy(m_rows);
    columnsLabel->setBuddy(m_columns);
    m_rows->setAccessibleName(tr("Dims on the rows"));
    m_columns->setAccessibleName(tr("Dims on the columns"));
    m_presets = rowOf({ m_plane, m_overview });
    m_dims = rowOf({ rowsLabel, m_rows, m_swap, columnsLabel, m_columns });
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setHorizontalSpacing(18);
    m_layout->setVerticalSpacing(4);
    m_layout->setSizeConstraint(QLayout::SetNoConstraint); // or the widest arrangement would keep the bar from ever getting narrower
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_presets->hide();
    m_dims->hide();
    static_cast<QBoxLayout*>(m_presets->layout())->addStretch(0);
    m_presets->setParent(this);
    m_dims->setParent(this);
    connect(m_plane, &QToolButton::clicked, this, [this] {
        SliceAxes axes = heatmap::lastPlaneAxes(m_shape);
        axes.fixed = m_indexes;
        choose(axes);
    });
    connect(m_overview, &QToolButton::clicked, this, [this] { choose(heatmap::overviewAxes(m_shape)); });
    connect(m_swap, &QToolButton::clicked, this, [this] { chooseDims(true, m_axes.columns); });
}

void SliceBar::setTensor(const Shape& shape, const SliceAxes& axes)
{
    const bool sameShape = shape == m_shape;
    const auto slice = heatmap::Slice::make(shape, axes);
    SliceAxes chosen = slice ? slice->axes() : heatmap::lastPlaneAxes(shape);
    chosen.fixed.resize(shape.size());
    if (sameShape && chosen == m_axes && !m_indexes.empty()) {
        return;
    }
    m_shape = shape;
    m_axes = chosen;
    if (!sameShape) {
        m_indexes.assign(shape.size(), 0);
        fillBoxes();
    }
    showAxes();
}

QString SliceBar::words(DimRange dims, bool brief) const
{
    const QLocale locale;
    if (dims.count == 0) {
        return tr("none");
    }
    if (brief) {
        const QString numbers = dims.count == 1 ? QString::number(dims.first) : QStringLiteral("%1-%2").arg(dims.first).arg(dims.end() - 1);
        return tr("%1 (%2)").arg(numbers, locale.toString(sizeOf(m_shape, dims)));
    }
    if (dims.count == 1) {
        return tr("dim %1 (%2)").arg(QString::number(dims.first), locale.toString(m_shape[dims.first]));
    }
    return tr("dims %1-%2 (%3)").arg(QString::number(dims.first), QString::number(dims.end() - 1), locale.toString(sizeOf(m_shape, dims)));
}

void SliceBar::fillBoxes()
{
    m_choices.clear();
    for (std::size_t count = 1; count <= m_shape.size(); ++count) {
        for (std::size_t first = 0; first + count <= m_shape.size(); ++first) {
            m_choices.push_back({ first, count });
        }
    }
    m_choices.push_back({});
    for (auto* box : { m_rows, m_columns }) {
        const QSignalBlocker quiet(box);
        box->clear();
        for (const auto& dims : m_choices) {
            box->addItem(words(dims));
        }
        box->view()->setMinimumWidth(180);
    }
    m_arranged = -1;
}

void SliceBar::showAxes()
{
    for (std::size_t dim = 0; dim < m_shape.size(); ++dim) {
        if (!m_axes.rows.contains(dim) && !m_axes.columns.contains(dim)) {
            m_indexes[dim] = m_axes.fixed[dim];
        }
    }
    const auto select = [this](QComboBox* box, DimRange dims) {
        const auto it = std::find_if(m_choices.begin(), m_choices.end(), [&](DimRange x) { return isSame(x, dims); });
        box->setCurrentIndex(static_cast<int>(it - m_choices.begin()));
        box->setToolTip(tip(words(dims)));
    };
    select(m_rows, m_axes.rows);
    select(m_columns, m_axes.columns);
    const SliceAxes plane = heatmap::lastPlaneAxes(m_shape), overview = heatmap::overviewAxes(m_shape);
    m_plane->setChecked(isSamePlane(m_axes, plane));
    m_overview->setChecked(isSamePlane(m_axes, overview));
    m_presets->setVisible(!isSamePlane(plane, overview));
    m_dims->setVisible(m_shape.size() >= 3);
    makeLines();
}

void SliceBar::makeLines()
{
    std::vector<std::size_t> dims;
    for (std::size_t dim = 0; dim < m_shape.size() && m_shape.size() >= 3; ++dim) {
        if (!m_axes.rows.contains(dim) && !m_axes.columns.contains(dim) && m_shape[dim] > 1) {
            dims.push_back(dim);
        }
    }
    const auto last = [this](std::size_t dim) {
        return static_cast<int>(std::min<std::int64_t>(m_shape[dim] - 1, std::numeric_limits<int>::max()));
    };
    const bool isSameLines = std::equal(dims.begin(), dims.end(), m_lines.begin(), m_lines.end(),
        [&](std::size_t dim, const FixedDim& line) { return line.dim == dim && line.slider->maximum() == last(dim); });
    if (!isSameLines) {
        for (const auto& line : m_lines) {
            line.line->hide();
            line.line->deleteLater();
        }
        m_lines.clear();
        for (const auto dim : dims) {
            FixedDim line;
            line.dim = dim;
            auto* label = new QLabel(words({ dim, 1 }));
            line.slider = new QSlider(Qt::Horizontal);
            line.field = new QSpinBox;
            line.slider->setObjectName(QStringLiteral("slider%1").arg(dim));
            line.field->setObjectName(QStringLiteral("index%1").arg(dim));
            line.slider->setRange(0, last(dim));
            line.field->setRange(0, last(dim));
            line.slider->setPageStep(std::max(1, last(dim) / 10));
            line.slider->setMaximumWidth(kLongestSlider);
            line.field->setKeyboardTracking(false);
            line.field->setAccelerated(true);
            const QString name = tr("Index of dim %1").arg(QString::number(dim));
            line.slider->setAccessibleName(name);
            line.field->setAccessibleName(name);
            line.line = rowOf({ label, line.slider, line.field });
            auto* layout = static_cast<QBoxLayout*>(line.line->layout());
            layout->setStretchFactor(line.slider, 1);
            layout->addStretch(0);
            line.line->setParent(this);
            connect(line.slider, &QSlider::valueChanged, this, [this, dim](int index) { chooseIndex(dim, index); });
            connect(line.field, &QSpinBox::valueChanged, this, [this, dim](int index) { chooseIndex(dim, index); });
            m_lines.push_back(line);
        }
        int labels = 0, fields = 0;
        for (const auto& line : m_lines) {
            fields = std::max(fields, line.field->sizeHint().width());
            labels = std::max(labels, line.line->layout()->itemAt(0)->widget()->sizeHint().width());
        }
        QWidget* before = m_columns;
        for (const auto& line : m_lines) {
            line.line->layout()->itemAt(0)->widget()->setFixedWidth(labels);
            line.field->setMinimumWidth(fields);
            setTabOrder(before, line.slider);
            setTabOrder(line.slider, line.field);
            before = line.field;
        }
        m_arranged = -1;
    }
    for (const auto& line : m_lines) {
        const QSignalBlocker quietSlider(line.slider), quietField(line.field);
        const auto index = static_cast<int>(m_axes.fixed[line.dim]);
        line.slider->setValue(index);
        line.field->setValue(index);
    }
    arrange();
}

void SliceBar::arrange()
{
    const int kind = (width() >= kBesideFrom ? 2 : width() >= kOneRowFrom ? 1 : 0) + (m_presets->isHidden() ? 10 : 0) + (m_dims->isHidden() ? 20 : 0);
    if (kind == m_arranged) {
        return;
    }
    m_arranged = kind;
    while (auto* item = m_layout->takeAt(0)) {
        delete item;
    }
    const bool beside = kind % 10 == 2, oneRow = kind % 10 >= 1;
    if (!oneRow && !m_presets->isHidden()) { // the boxes need the room
        static_cast<QBoxLayout*>(m_presets->layout())->insertWidget(2, m_swap);
    } else {
        static_cast<QBoxLayout*>(m_dims->layout())->insertWidget(2, m_swap);
    }
    m_swap->setVisible(!m_dims->isHidden());
    for (int i = 0; i < m_rows->count(); ++i) {
        for (auto* box : { m_rows, m_columns }) {
            box->setItemText(i, words(m_choices[static_cast<std::size_t>(i)], !oneRow));
        }
    }
    m_layout->addWidget(m_presets, 0, 0, Qt::AlignLeft);
    m_layout->addWidget(m_dims, oneRow ? 0 : 1, oneRow ? 1 : 0);
    int row = beside ? 0 : oneRow ? 1 : 2;
    for (const auto& line : m_lines) {
        m_layout->addWidget(line.line, row++, beside ? 2 : 0, 1, beside || !oneRow ? 1 : 3);
        line.line->show();
    }
    m_layout->setColumnStretch(0, oneRow ? 0 : 1);
    m_layout->setColumnStretch(1, 0);
    m_layout->setColumnStretch(2, oneRow ? 1 : 0);
    updateGeometry();
}

QSize SliceBar::minimumSizeHint() const
{
    const int height = m_layout->totalMinimumSize().height();
    return { height > 0 ? kNarrowest : 0, height };
}

void SliceBar::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

void SliceBar::chooseDims(bool rows, DimRange dims)
{
    SliceAxes axes = m_axes;
    DimRange& changed = rows ? axes.rows : axes.columns;
    DimRange& other = rows ? axes.columns : axes.rows;
    const DimRange before = changed;
    changed = dims;
    if (overlap(changed, other)) { // the other takes what was here, or the largest dim that is left
        other = before;
        if (overlap(changed, other)) {
            other = {};
            for (std::size_t dim = 0; dim < m_shape.size(); ++dim) {
                if (!changed.contains(dim) && (other.count == 0 || m_shape[dim] > m_shape[other.first])) {
                    other = { dim, 1 };
                }
            }
        }
    }
    axes.foldWidth = 0;
    if (axes.rows.count == 0) {
        const std::int64_t length = sizeOf(m_shape, axes.columns), width = heatmap::foldedWidth(length);
        axes.foldWidth = width < length ? width : 0;
    }
    axes.fixed = m_indexes;
    choose(axes);
}

void SliceBar::chooseIndex(std::size_t dim, std::int64_t index)
{
    SliceAxes axes = m_axes;
    axes.fixed[dim] = index;
    choose(axes);
}

void SliceBar::choose(SliceAxes axes)
{
    const auto slice = heatmap::Slice::make(m_shape, std::move(axes));
    if (!slice || slice->axes() == m_axes) {
        showAxes(); // a button that was pressed again stays pressed
        return;
    }
    m_axes = slice->axes();
    showAxes();
    emit axesChanged(m_axes);
}

} // namespace forkpoint::ui
