// Tells ThreadSanitizer what orders actors: that sending a message happens before receiving it.
//
// Debian's libcaf_core is not instrumented, so ThreadSanitizer does not see the atomics of its mailboxes and
// reference counts, and takes all that a message hands over for a race. The functions here stand before those of
// libcaf_core through which every message and every reference passes, as the dynamic linker prefers a program's
// own symbols, and add the missing edge around the original. Races between actors are still found.
//
// For CAF 0.17 on the Itanium C++ ABI, where a non-trivial class is passed and returned by address.

#include <dlfcn.h>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

#define SCHEDULED_ENQUEUE \
  "_ZN3caf15scheduled_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEEPNS_14execution_unitE"
#define BLOCKING_ENQUEUE \
  "_ZN3caf14blocking_actor7enqueueESt10unique_ptrINS_15mailbox_elementENS_6detail8disposerEEPNS_14execution_unitE"
#define SCHEDULED_INITIALIZE "_ZN3caf17event_based_actor10initializeEv"
#define SCHEDULED_REACTIVATE "_ZN3caf15scheduled_actor10reactivateERNS_15mailbox_elementE"
#define SCHEDULED_RECEIVE "_ZN3caf15scheduled_actor15mailbox_visitorclERNS_15mailbox_elementE"
#define BLOCKING_CLEANUP "_ZN3caf14blocking_actor7cleanupEONS_5errorEPNS_14execution_unitE"
#define BLOCKING_RECEIVE "_ZN3caf14blocking_actor15mailbox_visitorclERNS_15mailbox_elementE"
#define BLOCKING_DEQUEUE "_ZN3caf14blocking_actor7dequeueEv"
#define RELEASE_ACTOR "_ZN3caf21intrusive_ptr_releaseEPNS_19actor_control_blockE"
#define RELEASE_ACTOR_WEAK "_ZN3caf26intrusive_ptr_release_weakEPNS_19actor_control_blockE"

void scheduled_enqueue(void* actor, void* message, void* unit) __asm__(SCHEDULED_ENQUEUE);
void blocking_enqueue(void* actor, void* message, void* unit) __asm__(BLOCKING_ENQUEUE);
void scheduled_initialize(void* actor) __asm__(SCHEDULED_INITIALIZE);
int scheduled_reactivate(void* actor, void* message) __asm__(SCHEDULED_REACTIVATE);
int scheduled_receive(void* visitor, void* message) __asm__(SCHEDULED_RECEIVE);
bool blocking_cleanup(void* actor, void* error, void* unit) __asm__(BLOCKING_CLEANUP);
int blocking_receive(void* visitor, void* message) __asm__(BLOCKING_RECEIVE);
void* blocking_dequeue(void* message, void* actor) __asm__(BLOCKING_DEQUEUE);
void release_actor(void* actor) __asm__(RELEASE_ACTOR);
void release_actor_weak(void* actor) __asm__(RELEASE_ACTOR_WEAK);

namespace {

// The function of libcaf_core of the same symbol and type.
template <class Function>
Function* original(Function*, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

// Whoever drops the last reference destroys the actor, after all that others did while they held one.
void order_release(void* actor) {
  __tsan_release(actor);
  __tsan_acquire(actor);
}

}  // namespace

void scheduled_enqueue(void* actor, void* message, void* unit) {
  static const auto enqueue = original(&scheduled_enqueue, SCHEDULED_ENQUEUE);
  __tsan_release(actor);
  enqueue(actor, message, unit);
}

void blocking_enqueue(void* actor, void* message, void* unit) {
  static const auto enqueue = original(&blocking_enqueue, BLOCKING_ENQUEUE);
  __tsan_release(actor);
  enqueue(actor, message, unit);
}

// Makes the actor's behavior; the first message may be received on another thread.
void scheduled_initialize(void* actor) {
  static const auto initialize = original(&scheduled_initialize, SCHEDULED_INITIALIZE);
  initialize(actor);
  __tsan_release(actor);
}

int scheduled_reactivate(void* actor, void* message) {
  static const auto reactivate = original(&scheduled_reactivate, SCHEDULED_REACTIVATE);
  __tsan_acquire(actor);
  return reactivate(actor, message);
}

// A visitor's first member is its actor.
int scheduled_receive(void* visitor, void* message) {
  static const auto receive = original(&scheduled_receive, SCHEDULED_RECEIVE);
  void* const actor = *static_cast<void**>(visitor);
  __tsan_acquire(actor);
  const int result = receive(visitor, message);
  // The next message of this actor may be received on another thread.
  __tsan_release(actor);
  return result;
}

int blocking_receive(void* visitor, void* message) {
  static const auto receive = original(&blocking_receive, BLOCKING_RECEIVE);
  __tsan_acquire(*static_cast<void**>(visitor));
  return receive(visitor, message);
}

// Destroys the messages that nobody has received.
bool blocking_cleanup(void* actor, void* error, void* unit) {
  static const auto cleanup = original(&blocking_cleanup, BLOCKING_CLEANUP);
  __tsan_acquire(actor);
  return cleanup(actor, error, unit);
}

void* blocking_dequeue(void* message, void* actor) {
  static const auto dequeue = original(&blocking_dequeue, BLOCKING_DEQUEUE);
  void* const result = dequeue(message, actor);
  __tsan_acquire(actor);
  return result;
}

void release_actor(void* actor) {
  static const auto release = original(&release_actor, RELEASE_ACTOR);
  order_release(actor);
  release(actor);
}

void release_actor_weak(void* actor) {
  static const auto release = original(&release_actor_weak, RELEASE_ACTOR_WEAK);
  order_release(actor);
  release(actor);
}

// What a monitor is told of an actor's end is made and taken apart inside libcaf_core alone; an actor system's own
// actors, which it keeps in its registry, begin, work and end there; and so do messages that come to an actor as it
// ends, which nobody receives.
extern "C" const char* __tsan_default_suppressions() {
  return "race:caf::detail::tuple_vals<caf::down_msg>\n"
         "race:caf::actor_registry::erase\n"
         "race:caf::blocking_actor::cleanup\n"
         "race:caf::scheduled_actor::cleanup\n"
         "race:caf::mailbox_element_vals<*>::~mailbox_element_vals\n"
         // What libzmq does between its own threads is not seen, as it is not instrumented.
         "race:libzmq.so\n";
}
