#pragma once

#include <memory>

// Gloo's headers of its TCP transport include this one, which Debian 12 does not install (libgloo-dev
// 0.0~git20220518.5b14351). Declared here is what they need, laid out as in the library; pair.h and gloo_frame.h check
// sizes of the classes that hold these against the library's. Everything that uses them is compiled in the library.
namespace gloo {

template <typename T>
class ShareableNonOwningPtr;

/// Refers to an object that may be gone.
template <typename T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& shareable);

 private:
  std::weak_ptr<T> object_;
};

/// Keeps an object from being destroyed.
template <typename T>
class NonOwningPtr final {
 public:
  NonOwningPtr() = default;
  explicit NonOwningPtr(const WeakNonOwningPtr<T>& weak);

 private:
  std::shared_ptr<T> object_;
};

/// What an object has of itself, to give out references.
template <typename T>
class ShareableNonOwningPtr final {
 public:
  explicit ShareableNonOwningPtr(T* object);
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ShareableNonOwningPtr& operator=(const ShareableNonOwningPtr&) = delete;
  ~ShareableNonOwningPtr();

 private:
  std::shared_ptr<T> object_;
};

}  // namespace gloo
