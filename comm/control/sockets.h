#pragma once

#include <zmq.hpp>

#include <cstddef>
#include <string>

#include "comm/control/node.h"

// What both ends of the control plane need of ZeroMQ and of the system. Owner only.
namespace tandem::comm::control {

/// The address at the other end of a TCP connection, without the port; empty if it is gone.
std::string address_at_other_end(int file);

/// Options of every socket here: none of its queues throws anything away.
void set_common_options(zmq::socket_t& socket, std::size_t largest_message);

/// Throws KeyError unless `key` is one; `whose` is for the text.
void check_key(const std::string& key, const std::string& whose);

Time steady_now();

}  // namespace tandem::comm::control
