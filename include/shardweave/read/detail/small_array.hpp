// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_SMALL_ARRAY_HPP
#define SHARDWEAVE_READ_DETAIL_SMALL_ARRAY_HPP

/// An array that allocates nothing while it is small.

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A number of elements that is fixed when it is made: in place up to `Room`, else allocated.
/// Moving it moves the elements that are in place, and leaves it empty.
template <class T, std::size_t Room>
class small_array {
public:
    explicit small_array(std::size_t count) : size_(count) {
        if (count <= Room) {
            data_ = reinterpret_cast<T*>(few_);
            std::uninitialized_value_construct_n(data_, count);
        } else {
            many_ = std::vector<T>(count);
            data_ = many_.data();
        }
    }
    small_array(small_array&& other) noexcept { take(other); }
    small_array& operator=(small_array&& other) noexcept {
        if (this != &other) {
            clear();
            take(other);
        }
        return *this;
    }
    small_array(const small_array&) = delete;
    small_array& operator=(const small_array&) = delete;
    ~small_array() { clear(); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* data() noexcept { return data_; }
    [[nodiscard]] const T* data() const noexcept { return data_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    void clear() noexcept {
        if (size_ <= Room) {
            std::destroy_n(data_, size_);
        }
        size_ = 0;
    }

    void take(small_array& other) noexcept {
        size_ = other.size_;
        many_ = std::move(other.many_);
        if (size_ <= Room) {
            data_ = reinterpret_cast<T*>(few_);
            std::uninitialized_move_n(other.data_, size_, data_);
            std::destroy_n(other.data_, size_);
        } else {
            data_ = many_.data();
        }
        other.size_ = 0;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::vector<T> many_;
    // Only the elements that there are get built: a page over few sources is set up in no time.
    alignas(T) std::byte few_[Room * sizeof(T)];
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
