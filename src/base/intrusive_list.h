// A doubly linked list whose links live in its members: O(1) push and unlink, no allocation. A node
// is in at most one list per Tag, and unlinks itself when destroyed.
#pragma once

#include "base/assert.h"

namespace hushgate {

template <typename Tag>
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  bool linked() const { return next_ != nullptr; }

  void unlink() {
    if (next_ == nullptr) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = nullptr;
  }

 private:
  template <typename T, typename U>
  friend class IntrusiveList;

  ListNode* prev_ = nullptr;
  ListNode* next_ = nullptr;
};

// T derives from ListNode<Tag>.
template <typename T, typename Tag>
class IntrusiveList {
 public:
  IntrusiveList() { head_.prev_ = head_.next_ = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;
  ~IntrusiveList() {
    clear();
    head_.prev_ = head_.next_ = nullptr;
  }

  bool empty() const { return head_.next_ == &head_; }
  T& front() { return static_cast<T&>(*head_.next_); }
  T& back() { return static_cast<T&>(*head_.prev_); }

  void push_back(T& item) { insert(*head_.prev_, item); }
  void push_front(T& item) { insert(head_, item); }

  T* pop_front() {
    if (empty()) return nullptr;
    T& first = front();
    static_cast<Node&>(first).unlink();
    return &first;
  }

  // Moves everything of `other` behind what is here.
  void splice_back(IntrusiveList& other) {
    while (T* item = other.pop_front()) push_back(*item);
  }

  void clear() {
    while (pop_front() != nullptr) {
    }
  }

  // The successor, or null at the end. `item` must be in this list.
  T* next(T& item) {
    Node* after = static_cast<Node&>(item).next_;
    return after == &head_ ? nullptr : static_cast<T*>(after);
  }

 private:
  using Node = ListNode<Tag>;

  void insert(Node& before, T& item) {
    Node& node = item;
    HG_ASSERT(!node.linked());
    node.prev_ = &before;
    node.next_ = before.next_;
    before.next_->prev_ = &node;
    before.next_ = &node;
  }

  Node head_;
};

}  // namespace hushgate
