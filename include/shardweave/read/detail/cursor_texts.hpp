// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_CURSOR_TEXTS_HPP
#define SHARDWEAVE_READ_DETAIL_CURSOR_TEXTS_HPP

/// The store cursors of many sources, each told by what differs from the one before it.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/read/detail/packed_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The cursors of one store have one shape: fields that are the same in all of them, between fields
// that differ and mostly have one width. So each cursor is written as steps, "copy so many bytes of
// the cursor before, then insert so many new ones", with the place to copy from understood: the
// first step copies from the same distance to the start, the later ones from the same distance to
// the end. A field of another width then shifts nothing behind it.
//
// A cursor is: its length less that of the one before (signed varint), then steps up to its length.
// A step is a byte, copied × 16 + inserted. In both halves 15 means all up to the cursor's end, and
// 14 is followed by a varint to be added to it. Each step copies something but the first, and
// inserts something but the first and the last.
//
// All cursors: the bytes that the first one inserts, those that the others insert, and all their
// lengths and steps, each packed as in packed_bytes.hpp. The first one stands apart because the
// names of fields, which it alone has, need more bits than the digits in which the others differ.

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Half a step that a varint follows, and one that goes up to the end.
inline constexpr std::size_t long_step = 14;
inline constexpr std::size_t last_step = 15;

class cursor_writer {
public:
    /// Appends the steps of one cursor, which is not empty.
    void add(std::string_view text) {
        byte_writer out{steps_};
        out.signed_varint(static_cast<std::int64_t>(text.size()) -
                          static_cast<std::int64_t>(before_.size()));
        const auto differs =
            std::mismatch(text.begin(), text.end(), before_.begin(), before_.end()).first;
        auto copied = static_cast<std::size_t>(differs - text.begin());
        for (std::size_t at = 0;;) {
            at += copied;
            const std::size_t next = next_copy(text, at);
            step(out, text.size() - at + copied, copied, next - at);
            (before_.empty() ? first_inserted_ : inserted_) += text.substr(at, next - at);
            if (next == text.size()) {
                break;
            }
            at = next;
            for (copied = 0; at + copied != text.size() && same(text, at + copied);) {
                ++copied;
            }
        }
        before_ = text;
    }

    void finish(byte_writer& out) const {
        write_packed(out, first_inserted_);
        write_packed(out, inserted_);
        write_packed(out, steps_);
    }

private:
    /// Shorter copies are no shorter than what they save: a byte, for bytes that may be packed.
    static constexpr std::size_t least_copy = 3;

    /// Of `left` bytes that are still to come, first copies some and then inserts some.
    static void step(byte_writer& out, std::size_t left, std::size_t copied, std::size_t inserted) {
        const std::size_t copied_half = half(copied, left);
        const std::size_t inserted_half = half(inserted, left - copied);
        out.byte(static_cast<unsigned char>(copied_half << 4U | inserted_half));
        if (copied_half == long_step) {
            out.varint(copied - long_step);
        }
        if (inserted_half == long_step) {
            out.varint(inserted - long_step);
        }
    }

    static std::size_t half(std::size_t length, std::size_t left) {
        return length < long_step ? length : length == left ? last_step : long_step;
    }

    /// True when the cursor before has the same byte at this distance from its end.
    [[nodiscard]] bool same(std::string_view text, std::size_t at) const {
        const std::size_t from_end = text.size() - at;
        return from_end <= before_.size() && before_[before_.size() - from_end] == text[at];
    }

    /// Where the next copy is worth a step, from `at` on, or the end.
    [[nodiscard]] std::size_t next_copy(std::string_view text, std::size_t at) const {
        for (std::size_t run = 0; at != text.size(); ++at) {
            run = same(text, at) ? run + 1 : 0;
            if (run == least_copy) {
                return at + 1 - run;
            }
        }
        return at;
    }

    std::string_view before_;
    std::string steps_;
    std::string first_inserted_;
    std::string inserted_;
};

/// Reads what `cursor_writer` wrote, from bytes that may be hostile. A fault is one of `in`.
class cursor_reader {
public:
    explicit cursor_reader(byte_reader& in)
        : in_(&in), first_inserted_(in, most), inserted_(in, most), step_bytes_(unpacked(in)),
          steps_(step_bytes_) {}
    cursor_reader(const cursor_reader&) = delete;
    cursor_reader& operator=(const cursor_reader&) = delete;
    ~cursor_reader() = default;

    /// The next cursor; unfinished after a fault. It must stay where it is until the next one is
    /// read.
    void next(std::string& text) {
        const std::int64_t longer = steps_.signed_varint();
        const auto before = static_cast<std::int64_t>(before_.size());
        if (longer <= -before || longer > static_cast<std::int64_t>(room_) - before) {
            steps_.fail();
        }
        if (steps_.ok()) {
            const auto size = static_cast<std::size_t>(before + longer);
            room_ -= size;
            text.reserve(size);
            for (bool first = true; steps_.ok() && text.size() != size; first = false) {
                step(text, size, first);
            }
        }
        if (!steps_.ok()) {
            in_->fail();
        }
        before_ = text;
    }

    /// To be called after the last one: all must have been used.
    void finish() {
        if (!first_inserted_.finished() || !inserted_.finished() || !steps_.finished()) {
            in_->fail();
        }
    }

private:
    static constexpr std::size_t most = limits::token_cursor_bytes;

    static std::string unpacked(byte_reader& in) {
        packed_reader steps{in, most};
        std::string bytes;
        bytes.reserve(steps.left());
        if (!steps.append(bytes, steps.left()) || !steps.finished()) {
            in.fail();
        }
        return bytes;
    }

    void step(std::string& text, std::size_t size, bool first) {
        const unsigned char halves = steps_.byte();
        const std::size_t copied = length(halves >> 4U, size - text.size());
        const std::size_t inserted = length(halves & 15U, size - text.size() - copied);
        // Where to copy from: this far from the start, or from the end.
        const std::size_t skipped = text.size() + (first ? 0 : before_.size());
        const std::size_t lacking = first ? 0 : size;
        if (!steps_.ok() || (copied == 0 && !first) ||
            (inserted == 0 && !first && text.size() + copied != size) || skipped < lacking ||
            skipped - lacking + copied > before_.size()) {
            return steps_.fail();
        }
        text += before_.substr(skipped - lacking, copied);
        if (!(before_.empty() ? first_inserted_ : inserted_).append(text, inserted)) {
            steps_.fail();
        }
    }

    /// What half a step says, of at most `left`.
    std::size_t length(std::size_t half, std::size_t left) {
        if (half == last_step) {
            return left;
        }
        if (half == long_step) {
            half += static_cast<std::size_t>(steps_.varint(left));
        }
        if (half > left) {
            steps_.fail();
        }
        return steps_.ok() ? half : 0;
    }

    byte_reader* in_;
    packed_reader first_inserted_;
    packed_reader inserted_;
    std::string step_bytes_;
    byte_reader steps_;
    std::string_view before_;
    std::size_t room_ = most;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
