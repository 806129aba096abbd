// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/heatmap/pyramid.h"
#include "ui/heatmap/part_map.h"

#include <QString>
#include <QWidget>

#include <optional>
#include <vector>

namespace forkpoint::ui {

/// One element in words.
struct ElementWords {
    QString index; ///< "[12, 77]"
    QString place; ///< "A rank 0 [12, 77], B rank 1 [4, 77]": where each side recorded it
    struct Line {
        QString label, value;
    };
    std::vector<Line> lines; ///< A, B, B - A, relative, ULP, bits of A, of B, where they differ

    QString text() const; ///< line by line, for the clipboard and screen readers
};

ElementWords elementWords(const heatmap::PickedElement& element, DType a, DType b, const PartPlace& placeA, const PartPlace& placeB);

/// The element under the mouse and one that stays, the pinned one or the one of largest difference: index, rank, both values, their difference in every measure, and their bits. In a narrow
/// view there is room for one: that under the mouse, else the one that stays.
class ElementPanel : public QWidget {
    Q_OBJECT
public:
    explicit ElementPanel(QWidget* parent = nullptr);

    void setPinned(std::optional<ElementWords> words);
    void setLargest(std::optional<ElementWords> words); ///< shown while none is pinned
    void setHovered(std::optional<ElementWords> words);
    void setTall(bool tall); ///< both, below each other

    QString pinnedText() const { return m_pinned ? m_pinned->text() : QString(); }
    void setEqual(bool equal); ///< no element differs: said where the largest difference would stand
    QString largestText() const { return m_largest ? m_largest->text() : QString(); }
    QString hoveredText() const { return m_hovered ? m_hovered->text() : QString(); }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    int lineHeight() const;
    int blockHeight() const;
    void describe();
    struct Staying {
        const ElementWords* words = nullptr;
        QString title;
    };
    Staying staying() const;
    QString hint() const;
    void paintBlock(QPainter& painter, const QRect& box, const QString& title, const ElementWords* words, const QString& empty) const;

    std::optional<ElementWords> m_pinned, m_largest, m_hovered;
    bool m_equal = false;
    bool m_tall = false;
};

} // namespace forkpoint::ui
