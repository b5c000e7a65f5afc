#include "http/head_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace hushgate::http {
namespace {

template <typename Write>
std::string written(Write write) {
  std::string out;
  append_written(out, 1000, write);
  return out;
}

TEST(HeadWriter, GrowsByWhatIsWrittenAndKeepsWhatWasThere) {
  std::string out = "before ";
  append_written(out, 100, [](HeadWriter& writer) { writer.put("after"); });
  EXPECT_EQ(out, "before after");
  append_written(out, 0, [](HeadWriter& writer) { writer.put({}); });
  EXPECT_EQ(out, "before after");
}

TEST(HeadWriter, FillsItsRoomToTheLastByte) {
  std::string out;
  append_written(out, 4, [](HeadWriter& writer) { writer.put_all("12", "34"); });
  EXPECT_EQ(out, "1234");
  EXPECT_DEATH(append_written(out, 4, [](HeadWriter& writer) { writer.put("12345"); }),
               "assertion");
}

TEST(HeadWriter, FieldsAreWrittenNormalisedWhereverTheirViewsPoint) {
  const std::string line = "A: b";
  const std::string tight = "A:b";
  const std::string wide = "A:\tb ";
  const auto write = [](std::string_view name, std::string_view value) {
    return written([&](HeadWriter& w) { w.put_field({name, value, FieldId::other, false}); });
  };
  const auto part = [](const std::string& text, std::size_t at, std::size_t size) {
    return std::string_view(text).substr(at, size);
  };
  EXPECT_EQ(write(part(line, 0, 1), part(line, 3, 1)), "A: b\r\n");
  EXPECT_EQ(write(part(tight, 0, 1), part(tight, 2, 1)), "A: b\r\n");
  EXPECT_EQ(write(part(wide, 0, 1), part(wide, 3, 1)), "A: b\r\n");
  EXPECT_EQ(write("A", "b"), "A: b\r\n");
  EXPECT_EQ(write("A", ""), "A: \r\n");
}

TEST(HeadWriter, JoinedLinesSkipEmptyValuesAndVanishWhenAllIsEmpty) {
  const FieldList fields = {{"Via", "a", FieldId::via, false},
                            {"Via", "", FieldId::via, false},
                            {"X", "y", FieldId::other, false},
                            {"Via", "b", FieldId::via, false}};
  const auto joined = [](const FieldList& list, std::string_view a, std::string_view b) {
    return written([&](HeadWriter& w) { w.put_joined("Via: ", list, FieldId::via, a, b); });
  };
  EXPECT_EQ(joined(fields, "1.1 ", "c"), "Via: a, b, 1.1 c\r\n");
  EXPECT_EQ(joined(fields, "1.1 ", ""), "Via: a, b\r\n");
  EXPECT_EQ(joined({}, "1.1 ", "c"), "Via: 1.1 c\r\n");
  EXPECT_EQ(joined({}, "1.1 ", ""), "");
}

TEST(HeadWriter, ConnectionJoinsItsOptions) {
  const auto connection = [](ConnectionField field, std::string_view extra) {
    return written([&](HeadWriter& w) { w.put_connection(field, extra); });
  };
  EXPECT_EQ(connection(ConnectionField::none, ""), "");
  EXPECT_EQ(connection(ConnectionField::none, "TE"), "Connection: TE\r\n");
  EXPECT_EQ(connection(ConnectionField::close, ""), "Connection: close\r\n");
  EXPECT_EQ(connection(ConnectionField::keep_alive, ""), "Connection: keep-alive\r\n");
  EXPECT_EQ(connection(ConnectionField::upgrade, "TE"), "Connection: Upgrade, TE\r\n");
}

TEST(HeadWriter, UpgradeSaysWhetherAProtocolWasLeft) {
  const auto upgrade = [](std::string_view value) {
    const FieldList fields = {{"Upgrade", value, FieldId::upgrade, false}};
    return written([&](HeadWriter& w) { w.put(w.put_upgrade(fields) ? "yes" : "no"); });
  };
  EXPECT_EQ(upgrade("websocket"), "Upgrade: websocket\r\nyes");
  EXPECT_EQ(upgrade("h2c"), "no");
  EXPECT_EQ(upgrade("H2C, ,a"), "Upgrade: a\r\nyes");
}

TEST(HeadWriter, TheRoomForFieldsCoversListsThatGrowWhenJoined) {
  const FieldList fields = {{"Upgrade", "a,b,c,d", FieldId::upgrade, false}};
  EXPECT_GE(field_lines_bytes(fields), std::string_view("Upgrade: a, b, c, d\r\n").size());
  EXPECT_EQ(field_lines_bytes({{"A", "b", FieldId::other, false}}), 6u);
  EXPECT_EQ(field_lines_bytes({}), 0u);
}

}  // namespace
}  // namespace hushgate::http
