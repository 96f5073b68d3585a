#include "comm/peer_group/mailbox.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tandem::comm::peer_group {
bool Wanted::includes(int rank) const { return std::ranges::find(from, rank) != from.end(); }

void Parcel::copy_to(std::span<std::byte> data) const {
  if (!bytes.empty()) std::memcpy(data.data(), bytes.data(), bytes.size());
  std::size_t done = 0;
  for (const auto& frame : frames) {
    const auto part = frame->data();
    std::memcpy(data.data() + done, part.data(), part.size());
    done += part.size();
  }
}

bool Mailbox::add(int from, FramePointer& frame) {
  const FrameHeader header = frame->header();
  Parcels& parcels = parcels_[static_cast<std::size_t>(from)];
  const bool begun = !parcels.empty() && !parcels.back().complete();
  Parcel& parcel = begun ? parcels.back() : begin(from, header);
  if (parcel.kind != header.kind || parcel.tag != header.tag || parcel.size != header.message_size ||
      header.size > parcel.size - parcel.received || (header.size == 0 && parcel.size != 0)) {
    throw std::runtime_error("a frame that is no part of the message before it");
  }
  parcel.received += header.size;
  if (parcel.size > short_message) {
    parcel.frames.push_back(std::move(frame));
  } else {
    const auto data = frame->data();
    parcel.bytes.insert(parcel.bytes.end(), data.begin(), data.end());
  }
  return parcel.complete();
}

void Mailbox::add(int from, FrameKind kind, std::uint32_t tag, std::span<const std::byte> data) {
  Parcel& parcel = begin(from, {.kind = kind, .tag = tag, .size = data.size(), .message_size = data.size()});
  parcel.received = data.size();
  parcel.bytes.assign(data.begin(), data.end());
}

Parcel& Mailbox::begin(int from, const FrameHeader& header) {
  Parcel& parcel = parcels_[static_cast<std::size_t>(from)].emplace_back();
  parcel.from = from;
  parcel.kind = header.kind;
  parcel.tag = header.tag;
  parcel.size = header.message_size;
  parcel.number = ++arrivals_;
  return parcel;
}

std::optional<Parcel> Mailbox::take(const Wanted& wanted) {
  Parcels* parcels_of_first = nullptr;
  Parcels::iterator first;
  for (const int rank : wanted.from) {
    Parcels& parcels = parcels_[static_cast<std::size_t>(rank)];
    const auto found = std::ranges::find_if(parcels, [&](const Parcel& parcel) {
      return parcel.kind == wanted.kind && parcel.tag == wanted.tag && parcel.complete();
    });
    if (found == parcels.end() || (parcels_of_first != nullptr && first->number < found->number)) continue;
    parcels_of_first = &parcels;
    first = found;
  }
  if (parcels_of_first == nullptr) return std::nullopt;
  Parcel parcel = std::move(*first);
  parcels_of_first->erase(first);
  return parcel;
}

}  // namespace tandem::comm::peer_group
