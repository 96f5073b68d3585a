#pragma once

#include <caf/all.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

// Every message between actors, in one list. Each is a struct of its own, small, and can be serialized; gradients and
// weights never travel in them.
//
// Those that may also go to another process are listed again at the end.
//
//   run     -> driver    Begin               lead the run; what has come before is taken up now
//   bridge  -> driver    NodeJoined          a host is there to be used
//   bridge  -> driver    NodeLost            it is gone
//   bridge  -> node      DriverLost          nobody leads the run any more
//   anybody -> driver    ProcessEnded        the process of a node on the driver's host
//   bridge  -> driver    Notice              something to tell the user
//   driver  -> node      StartWorkers        spawn these ranks, each with its reducer, and these parameter servers
//   node    -> driver    WorkersStarted      the handles of workers and servers
//   node    -> driver    Publish             what other nodes' ranks need to know to connect
//   driver  -> node      Published           the same, to all nodes
//   worker  -> driver    WorkerReady         its replica is built; what its parameters look like
//   driver  -> server    StartServing        what the weights are like, once all workers are ready
//   driver  -> worker    Permit              steps it may compute (scheduler::Permit)
//   worker  -> reducer   SlotsReady          the slots are allocated, and show the initial state
//   worker  -> reducer   GradientReady       slot `step` holds a gradient
//   reducer -> worker    UpdateReady         slot `step` holds the update
//   worker  -> reducer   PullState           fetch the true state from the parameter servers
//   reducer -> worker    StatePulled         the slots hold it
//   worker  -> driver    IterationReport     timings of the last steps
//   worker  -> driver    EvaluationReport    its share of the test set
//   worker, reducer, server -> driver   Spans      its timeline, just before one of these two, its last message:
//   worker, reducer, server -> driver   Finished   it ended in order
//   any     -> driver    Failed              it ended with an error
//   driver  -> node      Abort               unblock and end everyone on this host
//   driver  -> node      RunOver             nobody is needed any more
//   node    -> worker, reducer, server  Stop       end now
//   worker  -> reducer   Stop                no gradient follows
//   anybody -> driver    Interrupt           end the run in order
//   anybody -> driver    CutShort            end the run at once
//   driver  -> driver    GraceOver           who has not ended by now is stuck; node -> node as well
//   driver  -> driver    Look                look whether all goes on
namespace tandem::actors {

enum class ActorKind : std::uint8_t { worker, reducer, parameter_server, node, driver };
const char* name(ActorKind kind);

/// An actor's handle in a message that may go to another process, where it becomes one that leads back here. (CAF's own
/// way of doing that needs its network layer.)
struct Handle {
  caf::actor actor;
};

/// Of a process that takes a message in: finds the sending process's actors.
class ForeignActors {
 public:
  virtual ~ForeignActors() = default;
  virtual caf::actor find(caf::actor_id id) = 0;
};

namespace detail {

/// Makes `actor` one that a message from elsewhere may be for.
void expose(const caf::actor& actor);
/// By `context`, which must be a ForeignActors.
caf::error find(caf::actor& actor, caf::actor_id id, caf::execution_unit* context);

}  // namespace detail

struct Begin {};

/// A process that actors may be spawned in.
struct NodeJoined {
  caf::actor node;
  std::string name;  ///< as it calls itself; several may have the same
  std::string text;  ///< for people: "node h2 (host gpu2, pid 4711)"; several may have the same
  std::string host;
  std::int64_t pid = 0;
  std::uint32_t cores = 0;
  std::uint64_t memory = 0;  ///< bytes
  std::uint32_t devices = 0;
  std::string key;  ///< public; empty without keys
};

struct NodeLost {
  caf::actor node;
  std::string reason;
};

struct ProcessEnded {
  std::int64_t pid = 0;
  std::string how;
};

struct DriverLost {
  std::string reason;
};

struct Notice {
  std::string text;
};

struct StartWorkers {
  std::string job;        ///< in TOML; empty where driver and node are one process
  std::string group;      ///< names the ranks' group; no two runs have the same
  std::int32_t node = 0;  ///< which of the nodes this is
  std::int32_t first_rank = 0;
  std::int32_t count = 0;
  std::vector<std::int32_t> servers;
  std::vector<std::int32_t> places;  ///< the node of each worker in rank order, and then of each server
  bool evaluate = true;
  std::uint64_t spans_kept = 0;
};

struct Publish {
  std::string key;
  std::string value;  ///< bytes
};

struct Published {
  std::string key;
  std::string value;
};

struct WorkersStarted {
  std::int32_t node = 0;
  std::vector<Handle> workers;  ///< in rank order
  std::vector<Handle> servers;  ///< in the order asked for
};

struct WorkerReady {
  std::int32_t rank = 0;
  std::uint64_t size = 0;
  std::uint64_t parameter_count = 0;
  std::int64_t steps_per_epoch = 0;
  std::vector<std::string> parameters;  ///< name and shape of each, as text
};

struct StartServing {
  std::uint64_t size = 0;
  std::uint64_t parameter_count = 0;
  std::int64_t steps_per_epoch = 0;
};

struct Permit {
  std::int64_t until = 0;
  std::int32_t width = 1;
  bool last = false;
  bool interrupted = false;  ///< with last: the run ends early, so nothing is evaluated
};

struct SlotsReady {};

struct GradientReady {
  std::int64_t step = 0;
};

struct UpdateReady {
  std::int64_t step = 0;
};

struct PullState {
  bool last = false;  ///< the one that is left when no worker goes on
};

struct StatePulled {};

/// One exchange, as its worker reports it once its update is applied.
struct ExchangeReport {
  std::int64_t exchange_ns = 0;
  std::int64_t encode_ns = 0;  ///< of these
  std::int64_t decode_ns = 0;
  std::uint64_t bytes_sent = 0;
  std::int64_t ahead = -1;  ///< steps that the worker began ahead of the slowest with it; -1 where nobody may
};

/// One turn of a worker: updates applied, then a step computed. The turn that applies the rest at the end computes
/// none.
struct Iteration {
  std::int64_t step = 0;
  std::int64_t applied = 0;  ///< updates applied before the step was computed
  bool computed = false;
  std::int64_t samples = 0;
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int32_t skipped = 0;   ///< updates of this turn left out since the mean was not finite
  std::int64_t step_ns = -1;  ///< since the gradient before was ready; -1 for the first
  std::int64_t wait_ns = 0;
  std::int64_t apply_ns = 0;
  std::int64_t data_ns = 0;
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::vector<ExchangeReport> exchanges;  ///< of the updates applied in this turn
};

struct IterationReport {
  std::int32_t rank = 0;
  std::vector<Iteration> iterations;
};

struct EvaluationReport {
  std::int32_t rank = 0;
  bool last = false;  ///< at the end of the run
  std::int64_t steps_done = 0;
  std::int64_t samples = 0;
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t duration_ns = 0;
};

/// scheduler::Span as a message.
struct SpanRecord {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t step = 0;
  std::uint8_t phase = 0;
};

struct Spans {
  ActorKind actor = ActorKind::worker;
  std::int32_t rank = 0;
  std::vector<SpanRecord> spans;
  std::uint64_t lost = 0;  ///< older ones that were not kept
};

struct Finished {
  ActorKind actor = ActorKind::worker;
  std::int32_t rank = 0;
};

/// Whose fault an error is, as far as the actor that has it knows.
enum class Blame : std::uint8_t {
  own,       ///< its own
  exchange,  ///< it saw it in an exchange; another may have caused it
  other,     ///< it was ended because of an error elsewhere
};

struct Failed {
  ActorKind actor = ActorKind::worker;
  std::int32_t rank = 0;
  std::int64_t step = -1;  ///< -1 before the first
  std::string what;
  Blame blame = Blame::own;
};

struct Abort {
  std::string reason;
};
struct Stop {
  std::string reason;
};
struct RunOver {
  std::string failure;  ///< what went wrong, the cause first; empty if nothing did
};
struct Interrupt {};
struct CutShort {
  std::string reason;
};
struct GraceOver {};
struct Look {};

template <class Inspector>
auto inspect(Inspector& f, Handle& x) {
  caf::actor_id id = x.actor ? x.actor.id() : caf::invalid_actor_id;
  const auto save = [&]() -> caf::error {
    if (x.actor) detail::expose(x.actor);
    return caf::none;
  };
  const auto load = [&] { return detail::find(x.actor, id, caf::context_of(&f)); };
  return f(id, caf::meta::load_callback(load), caf::meta::save_callback(save));
}
template <class Inspector>
auto inspect(Inspector& f, Begin&) {
  return f();
}
template <class Inspector>
auto inspect(Inspector& f, NodeJoined& x) {
  return f(x.node, x.name, x.text, x.host, x.pid, x.cores, x.memory, x.devices, x.key);
}
template <class Inspector>
auto inspect(Inspector& f, NodeLost& x) {
  return f(x.node, x.reason);
}
template <class Inspector>
auto inspect(Inspector& f, ProcessEnded& x) {
  return f(x.pid, x.how);
}
template <class Inspector>
auto inspect(Inspector& f, DriverLost& x) {
  return f(x.reason);
}
template <class Inspector>
auto inspect(Inspector& f, Notice& x) {
  return f(x.text);
}
template <class Inspector>
auto inspect(Inspector& f, StartWorkers& x) {
  return f(x.job, x.group, x.node, x.first_rank, x.count, x.servers, x.places, x.evaluate, x.spans_kept);
}
template <class Inspector>
auto inspect(Inspector& f, Publish& x) {
  return f(x.key, x.value);
}
template <class Inspector>
auto inspect(Inspector& f, Published& x) {
  return f(x.key, x.value);
}
template <class Inspector>
auto inspect(Inspector& f, WorkersStarted& x) {
  return f(x.node, x.workers, x.servers);
}
template <class Inspector>
auto inspect(Inspector& f, WorkerReady& x) {
  return f(x.rank, x.size, x.parameter_count, x.steps_per_epoch, x.parameters);
}
template <class Inspector>
auto inspect(Inspector& f, StartServing& x) {
  return f(x.size, x.parameter_count, x.steps_per_epoch);
}
template <class Inspector>
auto inspect(Inspector& f, Permit& x) {
  return f(x.until, x.width, x.last, x.interrupted);
}
template <class Inspector>
auto inspect(Inspector& f, SlotsReady&) {
  return f();
}
template <class Inspector>
auto inspect(Inspector& f, GradientReady& x) {
  return f(x.step);
}
template <class Inspector>
auto inspect(Inspector& f, UpdateReady& x) {
  return f(x.step);
}
template <class Inspector>
auto inspect(Inspector& f, PullState& x) {
  return f(x.last);
}
template <class Inspector>
auto inspect(Inspector& f, StatePulled&) {
  return f();
}
template <class Inspector>
auto inspect(Inspector& f, ExchangeReport& x) {
  return f(x.exchange_ns, x.encode_ns, x.decode_ns, x.bytes_sent, x.ahead);
}
template <class Inspector>
auto inspect(Inspector& f, Iteration& x) {
  return f(x.step, x.applied, x.computed, x.samples, x.loss_sum, x.correct, x.skipped, x.step_ns, x.wait_ns, x.apply_ns,
           x.data_ns, x.forward_ns, x.backward_ns, x.exchanges);
}
template <class Inspector>
auto inspect(Inspector& f, IterationReport& x) {
  return f(x.rank, x.iterations);
}
template <class Inspector>
auto inspect(Inspector& f, EvaluationReport& x) {
  return f(x.rank, x.last, x.steps_done, x.samples, x.loss_sum, x.correct, x.duration_ns);
}
template <class Inspector>
auto inspect(Inspector& f, SpanRecord& x) {
  return f(x.begin_ns, x.end_ns, x.step, x.phase);
}
template <class Inspector>
auto inspect(Inspector& f, Spans& x) {
  return f(x.actor, x.rank, x.spans, x.lost);
}
template <class Inspector>
auto inspect(Inspector& f, Finished& x) {
  return f(x.actor, x.rank);
}
template <class Inspector>
auto inspect(Inspector& f, Failed& x) {
  return f(x.actor, x.rank, x.step, x.what, x.blame);
}
template <class Inspector>
auto inspect(Inspector& f, Abort& x) {
  return f(x.reason);
}
template <class Inspector>
auto inspect(Inspector& f, Stop& x) {
  return f(x.reason);
}
template <class Inspector>
auto inspect(Inspector& f, RunOver& x) {
  return f(x.failure);
}
template <class Inspector>
auto inspect(Inspector& f, Interrupt&) {
  return f();
}
template <class Inspector>
auto inspect(Inspector& f, CutShort& x) {
  return f(x.reason);
}
template <class Inspector>
auto inspect(Inspector& f, GraceOver&) {
  return f();
}
template <class Inspector>
auto inspect(Inspector& f, Look&) {
  return f();
}

/// What goes from the driver's process to a node's, and back: all that a bridge carries. A message is known by its
/// place in the list, so a change of a list, or of a message in it, is a change of comm::control::wire_format.
using MessagesToNode = std::tuple<StartWorkers, StartServing, Permit, Published, Abort, RunOver>;
using MessagesToDriver =
    std::tuple<WorkersStarted, WorkerReady, IterationReport, EvaluationReport, Spans, Finished, Failed, Publish>;

}  // namespace tandem::actors

CAF_BEGIN_TYPE_ID_BLOCK(tandem, first_custom_type_id)
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Handle))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Begin))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::NodeJoined))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::NodeLost))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::ProcessEnded))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::DriverLost))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Notice))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::StartWorkers))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Publish))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Published))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::WorkersStarted))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::WorkerReady))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::StartServing))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Permit))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::SlotsReady))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::GradientReady))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::UpdateReady))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::PullState))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::StatePulled))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::ExchangeReport))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Iteration))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::IterationReport))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::EvaluationReport))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::SpanRecord))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Spans))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Finished))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Failed))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Abort))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Stop))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::RunOver))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Interrupt))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::CutShort))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::GraceOver))
CAF_ADD_TYPE_ID(tandem, (tandem::actors::Look))
CAF_END_TYPE_ID_BLOCK(tandem)
