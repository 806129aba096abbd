# SPDX-FileCopyrightText: 2026 The Forkpoint authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DINPUT=file -DOUTPUT=file.cpp -P EmbedFile.cmake: a C++ file that holds INPUT as forkpoint::cli::recorderSource().
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "#include \"app/forkpoint_cli/recorder_source.h\"
static const unsigned char kBytes[] = {${bytes}};
std::string_view forkpoint::cli::recorderSource() { return { reinterpret_cast<const char*>(kBytes), sizeof(kBytes) }; }
")
