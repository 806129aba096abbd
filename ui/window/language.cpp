// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/language.h"

#include <QApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QSettings>
#include <QTranslator>

namespace forkpoint::ui {

namespace {

const QString kKey = QStringLiteral("language");

QString wanted(const QString& language)
{
    const QString choice = language.isEmpty() ? QSettings().value(kKey).toString() : language;
    if (!choice.isEmpty()) {
        return choice == QLatin1String("zh_CN") ? choice : QStringLiteral("en");
    }
    return QLocale::system().language() == QLocale::Chinese ? QStringLiteral("zh_CN") : QStringLiteral("en");
}

} // namespace

QString installLanguage(QApplication& app, const QString& language)
{
    const QString shownLanguage = wanted(language);
    // Numbers follow the language, without the separators that make "1,234" look like a decimal comma elsewhere.
    QLocale locale = shownLanguage == QLatin1String("zh_CN") ? QLocale(QLocale::Chinese, QLocale::China) : QLocale(QLocale::English, QLocale::UnitedStates);
    QLocale::setDefault(locale);
    const auto install = [&app](const QString& file, const QString& folder) {
        auto* translator = new QTranslator(&app);
        if (translator->load(file, folder)) {
            QApplication::installTranslator(translator);
        } else {
            delete translator;
        }
    };
    install(QStringLiteral("forkpoint_%1").arg(shownLanguage), QStringLiteral(":/i18n"));
    install(QStringLiteral("qtbase_%1").arg(shownLanguage), QLibraryInfo::path(QLibraryInfo::TranslationsPath));
    return shownLanguage;
}

QString languageTitle(const QString& language) { return language == QLatin1String("zh_CN") ? QStringLiteral("简体中文") : QStringLiteral("English"); }

void rememberLanguage(const QString& language) { QSettings().setValue(kKey, language); }

} // namespace forkpoint::ui
